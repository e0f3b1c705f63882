// Small models whose frozen matrices are stored in fewer bits.

import { type DecoderSpec, frozenShapes } from '../../daemon/engine/decoder.ts'
import { emptyHalves, quantize, toHalvesInto } from '../../daemon/engine/stored/quantize.ts'
import {
  asFloats,
  type BaseWeights,
  type Blocks,
  type Halves,
  isStored,
  type Stored,
} from '../../daemon/engine/stored/stored.ts'
import { randomWeights, uniform } from './model.ts'

export function toHalves(values: Float32Array): Halves {
  const halves = emptyHalves(values.length)
  toHalvesInto(values, halves, 0)
  return halves
}

/** Blocks as in GGUF's K types: of 16 or 32 values, with minimums. */
export function withMinimums(values: Float32Array, bits: 4 | 8, block: 16 | 32): Blocks {
  const random = uniform(values.length)
  const count = values.length / block
  const middle = bits === 4 ? 8 : 128
  const numbers = new Uint8Array((values.length * bits) / 8)
  const scales = new Float32Array(count)
  const minimums = new Float32Array(count)
  for (let b = 0; b < count; b++) {
    const part = values.subarray(b * block, (b + 1) * block)
    const [least, most] = [Math.min(...part), Math.max(...part)]
    const steps = 2 ** bits - 1
    scales[b] = (most - least) / steps
    minimums[b] = least + middle * scales[b]! + (random() - 0.5) * scales[b]!
    part.forEach((value, i) => {
      const number = Math.round((value - least) / scales[b]!)
      const at = b * block + i
      if (bits === 8) numbers[at] = number
      else numbers[at >>> 1]! |= number << ((at & 1) << 2)
    })
  }
  return { kind: 'blocks', bits, block, numbers, scales, minimums }
}

export const STORED: [string, (values: Float32Array) => Stored][] = [
  ['4 bits', (values) => quantize(values, 4)],
  ['8 bits', (values) => quantize(values, 8)],
  ['4 bits with minimums', (values) => withMinimums(values, 4, 32)],
  ['8 bits with minimums in blocks of 16', (values) => withMinimums(values, 8, 16)],
  ['halves', toHalves],
]

/** Random weights with frozen matrices stored so, and the same values as F32. */
export function storedModel(
  spec: DecoderSpec,
  store: (values: Float32Array) => Stored,
  { seed = 7, scale = 0.3 } = {},
): { stored: BaseWeights; floats: Record<string, Float32Array> } {
  const all = randomWeights(spec, seed, scale)
  const frozen = frozenShapes(spec)
  const stored = Object.fromEntries(
    Object.entries(all).map(([name, values]) => [
      name,
      frozen.get(name)?.length === 2 ? store(values) : values,
    ]),
  )
  const floats = Object.fromEntries(Object.entries(stored).map(([name, values]) => [name, asFloats(values)]))
  if (!Object.values(stored).some(isStored)) throw new Error('nothing is stored')
  return { stored, floats }
}
