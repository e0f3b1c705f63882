// Adapters as other programs read and merge them.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AdapterSpec, type DecoderSpec, parameterShapes } from '../../daemon/engine/decoder.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { mergedTensor } from '../../daemon/policy/adapter.ts'
import { openWeights } from '../../daemon/policy/safetensors/read.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'

const PREFIX = 'base_model.model.'

/** What PEFT's files in a folder say, with Waggle's names. */
export async function writtenAdapter(directory: string): Promise<{ adapter: AdapterSpec; weights: Weights }> {
  const config = JSON.parse(await readFile(join(directory, 'adapter_config.json'), 'utf8'))
  const source = await openWeights({ path: join(directory, 'adapter_model.safetensors') }, { disk })
  const weights: Weights = {}
  for (const name of source.tensors.keys())
    weights[name.slice(PREFIX.length)] = await source.readFloat32(name)
  await source.close()
  const { r: rank, lora_alpha: alpha, target_modules: targets } = config
  return { adapter: { rank, alpha, targets }, weights }
}

/** W + alpha / rank * B A. */
export function mergeAdapter(spec: DecoderSpec, weights: Weights): { spec: DecoderSpec; weights: Weights } {
  const { adapter, ...plain } = spec
  const merged: Weights = {}
  for (const [name, shape] of parameterShapes(plain))
    merged[name] = mergedTensor(name, shape, weights, adapter!)
  return { spec: plain, weights: merged }
}
