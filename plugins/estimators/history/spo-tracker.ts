// SPO's tracker: for each prompt, the counts of a Beta distribution, and the last answer with its log-probs. The
// counts decay according to how far the policy has moved since that answer. The tracker describes this node's
// policy, so it is not shared.

import { z } from 'zod'
import { readRecord, writeRecord } from '../../../protocol/train/record.ts'

interface LastAnswer {
  conditioning: Int32Array
  tokens: Int32Array
  logprobs: Float32Array
}

interface Entry {
  alpha: number
  beta: number
  last?: LastAnswer
}

interface Fading {
  /** Mean |change of log-prob| per token at which counts are halved. */
  half: number
  least: number
  most: number
}

export interface Tracker {
  /** Probability of being right; one half for a new prompt. */
  value(key: string): number
  last(key: string): LastAnswer | undefined
  /** Rewards in [0, 1] of a visit; `moved` is the mean |change of log-prob| of the last answer, or 0. */
  add(key: string, rewards: readonly number[], moved: number, last: LastAnswer | undefined): void
  save(): Uint8Array
  load(bytes: Uint8Array): void
}

const PROMPTS = 16_384
/** Limit on the tokens of all kept answers together. */
const TOKENS = 524_288

/** Changes with the schema below, and so does `STATE_VERSION`. */
const FORMAT = 'spo/2'
export const STATE_VERSION = 2

const lastSchema = z
  .strictObject({
    conditioning: z.instanceof(Int32Array),
    tokens: z.instanceof(Int32Array),
    logprobs: z.instanceof(Float32Array),
  })
  .refine(({ tokens, logprobs }) => tokens.length === logprobs.length)
const savedSchema = z
  .array(
    z.tuple([
      z.string().max(200),
      z.strictObject({
        alpha: z.number().positive(),
        beta: z.number().positive(),
        last: lastSchema.optional(),
      }),
    ]),
  )
  .max(PROMPTS)

/** Initial counts, given that `right` of `count` answers written before training were right. */
export function initialCounts(right: number, count: number, least: number): [number, number] {
  const weight = 1 / (1 - least)
  if (count === 0) return [0.5, 0.5]
  return [(weight * (right + 0.5)) / (count + 1), (weight * (count - right + 0.5)) / (count + 1)]
}

export function keptShare(moved: number, { half, least, most }: Fading): number {
  return Math.min(most, Math.max(least, 2 ** (-moved / half)))
}

export function createTracker(fading: Fading): Tracker {
  let entries = new Map<string, Entry>()
  let tokens = 0
  const sizeOf = ({ last }: Entry): number => (last ? last.tokens.length + last.conditioning.length : 0)
  const forget = (key: string): void => {
    tokens -= sizeOf(entries.get(key)!)
    entries.delete(key)
  }
  const put = (key: string, entry: Entry): void => {
    if (entries.has(key)) forget(key)
    entries.set(key, entry)
    tokens += sizeOf(entry)
    // Drops the least recently asked prompt first.
    while (entries.size > PROMPTS || (tokens > TOKENS && entries.size > 1))
      forget(entries.keys().next().value!)
  }
  return {
    value(key) {
      const { alpha, beta } = entries.get(key) ?? { alpha: 1, beta: 1 }
      return alpha / (alpha + beta)
    },
    last: (key) => entries.get(key)?.last,
    add(key, rewards, moved, last) {
      const [first, second] = initialCounts(0, 0, fading.least)
      const { alpha, beta } = entries.get(key) ?? { alpha: first, beta: second }
      const kept = keptShare(moved, fading)
      const sum = rewards.reduce((a, b) => a + b, 0)
      put(key, {
        alpha: kept * alpha + sum,
        beta: kept * beta + rewards.length - sum,
        ...(last && { last }),
      })
    },
    save: () => writeRecord(FORMAT, [...entries]),
    load(bytes) {
      entries = new Map()
      tokens = 0
      for (const [key, { last, ...counts }] of savedSchema.parse(readRecord(FORMAT, bytes)))
        put(key, { ...counts, ...(last && { last }) })
    },
  }
}
