// A value head as bytes, for checkpoints. Numbers are stored exactly, so a restarted node continues exactly as it
// would have without the restart.

import { z } from 'zod'
import type { Head } from './head.ts'

/** Larger than any model's width; keeps corrupt bytes from allocating too much memory. */
const MAX_WIDTH = 65_536
const numbers = z.string().max(MAX_WIDTH * 12)
const savedSchema = z.strictObject({
  width: z.int().min(1).max(MAX_WIDTH),
  bias: z.number(),
  seen: z.int().min(0),
  steps: z.int().min(0),
  weights: numbers,
  mean: numbers,
  variance: numbers,
  first: numbers,
  second: numbers,
})

export function headBytes(head: Head | undefined): Uint8Array {
  if (!head) return new Uint8Array()
  const { spread, ...rest } = head
  return new TextEncoder().encode(
    JSON.stringify({ ...rest, ...spread }, (_, value) =>
      value instanceof Float64Array ? written(value) : value,
    ),
  )
}

/** Decodes a head; undefined for empty bytes. Throws if the bytes are not a head. */
export function headOf(bytes: Uint8Array): Head | undefined {
  if (bytes.length === 0) return undefined
  const { width, bias, seen, steps, ...arrays } = savedSchema.parse(
    JSON.parse(new TextDecoder().decode(bytes)),
  )
  const read = (name: keyof typeof arrays, length: number): Float64Array => {
    const values = new Float64Array(new Uint8Array(Buffer.from(arrays[name], 'base64')).buffer)
    if (values.length !== length || !values.every(Number.isFinite))
      throw new RangeError(`a saved value head's "${name}" is not ${length} finite numbers`)
    return values
  }
  return {
    width,
    bias,
    steps,
    weights: read('weights', width),
    spread: { seen, mean: read('mean', width), variance: read('variance', width) },
    first: read('first', width + 1),
    second: read('second', width + 1),
  }
}

function written(values: Float64Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64')
}
