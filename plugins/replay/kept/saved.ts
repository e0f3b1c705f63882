// What a replay buffer saves, checked against a closed schema before it is used, so that a record of another writer
// causes a clear error and not a corrupt batch.

import { z } from 'zod'
import { WaggleError } from '../../../protocol/errors.ts'
import { readRecord, writeRecord } from '../../../protocol/train/record.ts'
import type { Stored } from './stored.ts'

/** Changes with the schema below, and so does `stateVersion` of the plugins that save a buffer. */
const FORMAT = 'replay/2'
/** `stateVersion` of the plugins that save a buffer: older states, which have another form, are dropped with a notice. */
export const STATE_VERSION = 2

const count = z.number().int().nonnegative()
const text = z.string()
const turnSchema = z.strictObject({
  state: text,
  observation: text,
  start: count,
  length: count,
  reward: z.number(),
})
const floats = z.instanceof(Float32Array)
const rollout = z
  .strictObject({
    text,
    tokens: z.instanceof(Int32Array),
    conditioning: z.instanceof(Int32Array),
    behaviourLogprobs: floats,
    lossMask: z.instanceof(Uint8Array).optional(),
    segments: z.array(z.strictObject({ version: count, start: count, length: count })),
    finish: z.enum(['stop', 'length', 'aborted']),
    reward: z.number(),
    taskReward: z.number().optional(),
    rewardParts: z.record(z.string(), z.number()).optional(),
    arm: text,
    turns: z.array(turnSchema).optional(),
  })
  .refine(
    ({ tokens: { length }, behaviourLogprobs, lossMask }) =>
      behaviourLogprobs.length === length && (lossMask?.length ?? length) === length,
    'its numbers are not one for each token',
  )
const stored = z
  .strictObject({
    lane: text,
    prompt: z.strictObject({ task: text, taskVersion: count, seed: count, difficulty: z.number() }),
    group: text,
    version: count,
    bornAt: z.number(),
    tainted: z.boolean(),
    uses: count,
    mark: z.number(),
    rollouts: z.array(rollout),
    advantages: z.array(z.union([z.number(), floats])).optional(),
  })
  .refine(
    ({ advantages, rollouts }) =>
      !advantages ||
      (advantages.length === rollouts.length &&
        advantages.every((one, i) => typeof one === 'number' || one.length === rollouts[i]!.tokens.length)),
    'its advantages do not fit its rollouts',
  )
const schema = z.strictObject({
  lineage: text,
  tokenizer: text,
  /** The plugin's own. */
  extra: z.json(),
  stored: z.array(stored),
})

export interface Saved {
  lineage: string
  tokenizer: string
  stored: Stored[]
  /** The plugin's own additional state; plain JSON. */
  extra: unknown
}

export function write(saved: Saved): Uint8Array {
  return writeRecord(FORMAT, saved)
}

export function read(bytes: Uint8Array): Saved {
  try {
    const saved = readRecord(FORMAT, bytes)
    schema.parse(saved)
    // Not the schema's copy, whose keys have another order: equal buffers give equal bytes.
    return saved as Saved
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message
    throw new WaggleError('E_CHECKPOINT', `the saved replay buffer cannot be read: ${why}`, {
      hint: 'Restore an older checkpoint, or start without this one.',
      cause,
    })
  }
}
