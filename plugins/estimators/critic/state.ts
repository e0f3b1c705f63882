// A value head as bytes, for checkpoints. Numbers are stored exactly, so a restarted node continues exactly as it
// would have without the restart.

import { z } from 'zod'
import { readRecord, writeRecord } from '../../../protocol/train/record.ts'
import type { Head } from './head.ts'

/** Changes with the schema below, and so does `STATE_VERSION`. */
const FORMAT = 'value head/2'
/** `stateVersion` of the plugins with a value head. */
export const STATE_VERSION = 2

const finite = z
  .instanceof(Float64Array)
  .refine((values) => values.every(Number.isFinite), 'its numbers are not finite')
const savedSchema = z
  .strictObject({
    width: z.int().min(1),
    bias: z.number(),
    steps: z.int().min(0),
    weights: finite,
    spread: z.strictObject({ seen: z.int().min(0), mean: finite, variance: finite }),
    first: finite,
    second: finite,
  })
  .refine(
    ({ width, weights, spread: { mean, variance }, first, second }) =>
      [weights, mean, variance].every(({ length }) => length === width) &&
      [first, second].every(({ length }) => length === width + 1),
    'its arrays do not have its width',
  )

export function headBytes(head: Head | undefined): Uint8Array {
  return head ? writeRecord(FORMAT, head) : new Uint8Array()
}

/** Decodes a head; undefined for empty bytes. Throws if the bytes are not a head. */
export function headOf(bytes: Uint8Array): Head | undefined {
  return bytes.length === 0 ? undefined : savedSchema.parse(readRecord(FORMAT, bytes))
}
