// A library entry, and the check that entries were made only on training prompts.
//
// Every entry names the prompt that it was made on. A saved library contains a digest of its tasks' training
// splits, computed from its entries. A library whose digest does not match, or that has an entry made on a
// held-out prompt, is rejected as a whole, so that no knowledge about evaluation prompts can leak in.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isHeldOut } from '../../../protocol/train/index.ts'

/** The format of `promptKey`. */
const PROMPT_KEY = /^([a-z][a-z0-9_]{0,63}@[1-9]\d{0,8})\/\d{1,9}\/(\d{1,10})$/
/** The `from` of an entry that comes with a plugin and was not made on any prompt. */
export const BUILT_IN = 'built-in'

export const entrySchema = z.strictObject({
  id: z.string().max(64),
  text: z.string().max(4096),
  /** Part of the library, such as a tier or a level. */
  zone: z.string().max(32),
  score: z.number().finite(),
  uses: z.number().int().nonnegative(),
  /** Key of the prompt that it was made on. */
  from: z.string().max(128),
  /** `self`, or the author's peer ID. */
  author: z.string().max(128),
  /** This node's step when it was added. */
  step: z.number().int().nonnegative(),
})
export type Entry = z.infer<typeof entrySchema>

export function isFromTraining({ from }: Pick<Entry, 'from'>): boolean {
  if (from === BUILT_IN) return true
  const seed = Number(PROMPT_KEY.exec(from)?.[2])
  return Number.isInteger(seed) && seed < 2 ** 32 && !isHeldOut(seed)
}

/** Digest of the entries' tasks and versions; their seeds below HELD_OUT_SEED are the training split. */
export function splitOf(entries: readonly Pick<Entry, 'from'>[]): string {
  const tasks = new Set(entries.flatMap(({ from }) => PROMPT_KEY.exec(from)?.[1] ?? []))
  return createHash('sha256')
    .update(`train\n${[...tasks].sort().join('\n')}`)
    .digest('hex')
    .slice(0, 32)
}

/** Highest score first, then by id, so that the order is the same on every node. */
export function byScore(a: Pick<Entry, 'id' | 'score'>, b: Pick<Entry, 'id' | 'score'>): number {
  return b.score - a.score || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
