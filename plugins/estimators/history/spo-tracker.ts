// SPO's tracker: for each prompt, the counts of a Beta distribution, and the last answer with its log-probs. The
// counts decay according to how far the policy has moved since that answer. The tracker describes this node's
// policy, so it is not shared.

import { z } from 'zod'

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

const array = z.string().max(1 << 20)
const savedSchema = z
  .array(
    z.tuple([
      z.string().max(200),
      z.number().positive(),
      z.number().positive(),
      z.tuple([array, array, array]).nullable(),
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
    save: () =>
      new TextEncoder().encode(
        JSON.stringify(
          [...entries].map(([key, { alpha, beta, last }]) => [
            key,
            alpha,
            beta,
            last ? [last.conditioning, last.tokens, last.logprobs].map(written) : null,
          ]),
        ),
      ),
    load(bytes) {
      entries = new Map()
      tokens = 0
      for (const [key, alpha, beta, last] of savedSchema.parse(JSON.parse(new TextDecoder().decode(bytes))))
        put(key, { alpha, beta, ...(last && { last: answerOf(last) }) })
    },
  }
}

function written(values: Int32Array | Float32Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64')
}

function answerOf([conditioning, tokens, logprobs]: [string, string, string]): LastAnswer {
  const bytesOf = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text, 'base64')).buffer
  return {
    conditioning: new Int32Array(bytesOf(conditioning)),
    tokens: new Int32Array(bytesOf(tokens)),
    logprobs: new Float32Array(bytesOf(logprobs)),
  }
}
