// Keeps on disk what an engine has become, as a model's folder.

import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parameterShapes } from '../../../daemon/engine/decoder.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { encodeSafetensors } from '../../../daemon/policy/safetensors/read.ts'

/** The engine's weights beside the other files of the model that they came from. */
export async function keepModel(
  directory: string,
  from: string,
  { engine, model }: { engine: Engine; model: Model },
) {
  await mkdir(directory, { recursive: true })
  for (const name of ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json'])
    await copyFile(join(from, name), join(directory, name))
  const weights = await engine.weights()
  const tensors = Object.fromEntries(
    [...parameterShapes(model.spec)].map(([name, shape]) => [name, { shape, data: weights[name]! }]),
  )
  const pieces: Uint8Array[] = []
  for await (const piece of encodeSafetensors({ tensors, metadata: { format: 'pt' }, finite: true }).content)
    pieces.push(piece)
  await writeFile(join(directory, 'model.safetensors'), Buffer.concat(pieces))
}
