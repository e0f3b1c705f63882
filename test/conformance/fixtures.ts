// Small checkpoints with what PyTorch says about them (scripts/fixtures/make.py), read as a user's model is read.

import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type DecoderSpec, parameterShapes } from '../../daemon/engine/decoder.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { openWeights } from '../../daemon/policy/safetensors/read.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'

const ROOT = fileURLToPath(new URL('fixtures', import.meta.url))
export const FIXTURES = readdirSync(ROOT).sort()

export interface Fixture {
  spec: DecoderSpec
  weights: Weights
  rows: { conditioning: Int32Array; completion: Int32Array; advantage: number; mask: Float32Array }[]
  /** What PyTorch found. Values of all rows' completion tokens stand one after another. */
  expected: Weights
  greedy: number[]
}

export async function readFixture(name: string): Promise<Fixture> {
  const at = (file: string): string => join(ROOT, name, file)
  const spec = specOf(JSON.parse(await readFile(at('config.json'), 'utf8')))
  const source = await openWeights({ path: join(ROOT, name) }, { disk })
  const weights: Weights = {}
  for (const key of parameterShapes(spec).keys()) weights[key] = await source.readFloat32(key)
  await source.close()
  const found = await openWeights({ path: at('expected.safetensors') }, { disk })
  const expected: Weights = {}
  for (const [key, { dtype }] of found.tensors) {
    if (dtype === 'F32') expected[key] = await found.readFloat32(key)
  }
  const greedy = [...((await found.read('greedy')) as Int32Array)]
  await found.close()
  const rows = JSON.parse(await readFile(at('batch.json'), 'utf8')) as {
    conditioning: number[]
    completion: number[]
    advantage: number
    mask: number[]
  }[]
  return {
    spec,
    weights,
    expected,
    greedy,
    rows: rows.map(({ conditioning, completion, advantage, mask }) => ({
      conditioning: Int32Array.from(conditioning),
      completion: Int32Array.from(completion),
      advantage,
      mask: Float32Array.from(mask),
    })),
  }
}
