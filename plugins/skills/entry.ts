// An entry of a library, and which entries may be in one: made on training prompts only.
//
// Every entry names the prompt that it was made on. A library carries a digest of the training splits of its tasks,
// counted from its entries: one whose digest does not fit its entries, or with an entry that was made on a held-out
// prompt, is refused as a whole, so that what evaluation asks about cannot come in as experience.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isHeldOut } from '../../protocol/train/index.ts'

/** As `promptKey` writes them. */
const PROMPT_KEY = /^([a-z][a-z0-9_]{0,63}@[1-9]\d{0,8})\/\d{1,9}\/(\d{1,10})$/
/** Of an entry that came with a plugin, and was made on no prompt. */
export const BUILT_IN = 'built-in'

export const entrySchema = z.strictObject({
  id: z.string().max(64),
  text: z.string().max(4096),
  /** Part of the library: a tier, a level. */
  zone: z.string().max(32),
  score: z.number().finite(),
  uses: z.number().int().nonnegative(),
  /** Key of the prompt that it was made on. */
  from: z.string().max(128),
  /** `self`, or the peer ID of who made it. */
  author: z.string().max(128),
  /** Of the node that has it, when it was added. */
  step: z.number().int().nonnegative(),
})
export type Entry = z.infer<typeof entrySchema>

export function isFromTraining({ from }: Pick<Entry, 'from'>): boolean {
  if (from === BUILT_IN) return true
  const seed = Number(PROMPT_KEY.exec(from)?.[2])
  return Number.isInteger(seed) && seed < 2 ** 32 && !isHeldOut(seed)
}

/** Of the tasks and their versions: seeds below HELD_OUT_SEED of these are the training split. */
export function splitOf(entries: readonly Pick<Entry, 'from'>[]): string {
  const tasks = new Set(entries.flatMap(({ from }) => PROMPT_KEY.exec(from)?.[1] ?? []))
  return createHash('sha256')
    .update(`train\n${[...tasks].sort().join('\n')}`)
    .digest('hex')
    .slice(0, 32)
}

/** Highest score first, and by id where scores are equal: the same on every node. */
export function byScore(a: Pick<Entry, 'id' | 'score'>, b: Pick<Entry, 'id' | 'score'>): number {
  return b.score - a.score || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
