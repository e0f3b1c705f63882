// How every task turns coordinates into an instance, and keeps training apart from evaluation.
//
// Seeds alone do not part them: in a small space two seeds make the same question. So the questions themselves are
// parted, by a hash of their text: one in eight is held out, whatever the level or version. A generator draws until
// it meets a question of the class that the seed belongs to. Bounded, and an error at the bound: never a fallback.

import { type Instance, isHeldOut, promptKey } from '../../protocol/train/index.ts'
import { type Dice, diceFor, hash64 } from './random.ts'

/** A question that has been drawn; the key and steps are worked out only if it is kept. */
export interface Draft {
  /** What is asked, apart from wording and style: two drafts with one subject always fall in the same class. */
  subject: string
  instance(): Instance
}

export interface DrawFor {
  name: string
  version: number
  difficulty: { min: number; max: number }
}

/** At one held out in eight, failing this often by chance has probability (7/8)^10000, about 10^-580. */
export const MAX_DRAWS = 10_000

export const HELD_OUT_SHARE = 8n

/** True iff questions about this subject are for evaluation only. */
export function isHeldOutSubject(task: string, subject: string): boolean {
  return hash64(`${task}\n${subject}`) % HELD_OUT_SHARE === 0n
}

/** Draws until `draft` gives a question of the seed's class. `draft` may return null to reject what it drew. */
export function drawInstance(
  task: DrawFor,
  at: { seed: number; difficulty: number },
  draft: (dice: Dice, level: number) => Draft | null,
): Instance {
  const { seed, difficulty } = at
  if (!Number.isInteger(seed) || seed < 0 || seed > 0xffff_ffff)
    throw new RangeError(`${task.name}: seed ${seed} is not an unsigned 32-bit number`)
  if (!Number.isInteger(difficulty) || difficulty < task.difficulty.min || difficulty > task.difficulty.max)
    throw new RangeError(
      `${task.name}: difficulty ${difficulty} is not a whole number from ${task.difficulty.min} to ${task.difficulty.max}`,
    )
  const dice = diceFor(promptKey({ task: task.name, taskVersion: task.version, seed, difficulty }))
  const heldOut = isHeldOut(seed)
  for (let i = 0; i < MAX_DRAWS; i++) {
    const drawn = draft(dice, difficulty)
    if (drawn && isHeldOutSubject(task.name, drawn.subject) === heldOut) return drawn.instance()
  }
  throw new Error(
    `${task.name}: no instance for seed ${seed} at difficulty ${difficulty} in ${MAX_DRAWS} draws`,
  )
}
