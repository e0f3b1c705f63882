// A plugin's state as JSON. States with arrays of numbers are records (protocol/train/record.ts).

import type { z } from 'zod'

export function writeState(state: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(state))
}

/** Throws if the bytes are not a state of this schema. */
export function readState<Schema extends z.ZodType>(schema: Schema, bytes: Uint8Array): z.output<Schema> {
  return schema.parse(JSON.parse(new TextDecoder().decode(bytes)))
}
