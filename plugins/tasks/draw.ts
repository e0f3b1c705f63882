// Turns coordinates into an instance for every task, and keeps three sets of questions apart: those for the
// warm start, for training, and for evaluation.
//
// Seeds alone do not keep them apart, since in a small space two seeds can give the same question. So a hash of
// the question's text decides, independently of level and version: of eight questions one is held out, three are for
// the warm start and four for training. Without a separate set for the warm start, part of the training reward would
// come from memorised answers. A generator draws until it finds a question of the requested set; it throws after a
// maximum number of draws.

import { type Instance, isHeldOut, promptKey } from '../../protocol/train/index.ts'
import { type Dice, diceFor, hash64 } from './random.ts'

/** A drawn question; its key and steps are computed only if it is kept. */
interface Draft {
  /**
   * What is asked, apart from wording and style: two drafts with the same subject always fall into the same part.
   */
  subject: string
  instance(): Instance
}

interface DrawFor {
  name: string
  version: number
  difficulty: { min: number; max: number }
}

/**
 * With one question in eight held out, the probability of this many failures by chance is (7/8)^10000, about 10^-580.
 */
const MAX_DRAWS = 10_000

export const HELD_OUT_SHARE = 8n
/** Number of the HELD_OUT_SHARE hash classes, after the held-out one, that belong to the warm start. */
const WARM_START_CLASSES = 3n

export type Part = 'held out' | 'warm start' | 'training'

/** The part that questions about this subject belong to. */
export function partOf(task: string, subject: string): Part {
  const found = hash64(`${task}\n${subject}`) % HELD_OUT_SHARE
  return found === 0n ? 'held out' : found <= WARM_START_CLASSES ? 'warm start' : 'training'
}

/**
 * Draws until `draft` gives a question of the wanted part. `draft` may return null to reject what it drew.
 */
export function drawInstance(
  task: DrawFor,
  at: { seed: number; difficulty: number; warmStart?: boolean },
  draft: (dice: Dice, level: number) => Draft | null,
): Instance {
  const { seed, difficulty, warmStart = false } = at
  if (!Number.isInteger(seed) || seed < 0 || seed > 0xffff_ffff)
    throw new RangeError(`${task.name}: seed ${seed} is not an unsigned 32-bit number`)
  if (!Number.isInteger(difficulty) || difficulty < task.difficulty.min || difficulty > task.difficulty.max)
    throw new RangeError(
      `${task.name}: difficulty ${difficulty} is not a whole number from ${task.difficulty.min} to ${task.difficulty.max}`,
    )
  const dice = diceFor(promptKey({ task: task.name, taskVersion: task.version, seed, difficulty }))
  const wanted: Part = warmStart ? 'warm start' : isHeldOut(seed) ? 'held out' : 'training'
  for (let i = 0; i < MAX_DRAWS; i++) {
    const drawn = draft(dice, difficulty)
    if (drawn && partOf(task.name, drawn.subject) === wanted) return drawn.instance()
  }
  throw new Error(
    `${task.name}: no ${wanted} question for seed ${seed} at difficulty ${difficulty} in ${MAX_DRAWS} draws`,
  )
}
