// Groups whose writing was interrupted, to be gone on with in a later round: first in, first out. What their rollouts
// have is kept to the token, with the log-probs and versions that it was written with, and rollouts that had ended stay
// as they are. After APRIL (arXiv 2509.18521); unlike there, groups that are done already when the round ends are kept
// in the list, too, as they are, and the list is in the checkpoint.
//
// Those taken for a round stay in what is saved until the round is over, so that a node that dies has lost nothing.

import type { Finish, PromptCoordinates, Segment } from '../../protocol/train/index.ts'
import type { Composed } from '../host/contract.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'
import { readParked, writeParked } from './parked-codec.ts'
import { beginSequence, endAnswer, type Order, type Sequence } from './sequence.ts'
import type { TaskBook } from './tasks.ts'

export interface ParkedSequence {
  seed: number
  tokens: number[]
  logprobs: number[]
  entropies: number[]
  mask: number[]
  segments: Segment[]
  answerStart: number
  /** Answers that are complete, where a task has turns. */
  places: { start: number; length: number }[]
  finish?: Finish
  arm?: string
  tainted: boolean
}

export interface ParkedGroup {
  prompt: PromptCoordinates
  conditioning: number[]
  composed?: Composed
  /** The policy's version when it was begun. */
  since: number
  sequences: ParkedSequence[]
}

export interface ParkedGroups {
  readonly length: number
  /** The oldest, for a round that now begins. Those that are not `wanted` are forgotten. */
  take(most: number, wanted: (group: ParkedGroup) => boolean): ParkedGroup[]
  /** The round is over: what was taken is forgotten, and this has been parked. */
  settle(parked: readonly ParkedGroup[]): void
  /** The round came to nothing: what was taken is first in line again. */
  giveBack(): void
  clear(): void
  /** Undefined where there are none. */
  save(): string | undefined
  /** As `save` gave it; anything else leaves the list empty, since what is lost is a round's work at most. */
  load(saved: string): void
}

export function createParkedGroups(): ParkedGroups {
  let waiting: ParkedGroup[] = []
  let taken: ParkedGroup[] = []
  return {
    get length() {
      return waiting.length
    },
    take(most, wanted) {
      waiting = waiting.filter(wanted)
      taken = waiting.splice(0, most)
      return taken
    },
    settle(parked) {
      taken = []
      waiting.push(...parked)
    },
    giveBack() {
      waiting.unshift(...taken)
      taken = []
    },
    clear() {
      taken = []
      waiting = []
    },
    save: () => (taken.length + waiting.length === 0 ? undefined : writeParked([...taken, ...waiting])),
    load(saved) {
      taken = []
      waiting = readParked(saved) ?? []
    },
  }
}

export function park(order: Order, sequences: readonly Sequence[], since: number): ParkedGroup {
  return {
    prompt: order.prompt,
    conditioning: [...order.conditioning],
    ...(order.composed ? { composed: order.composed } : {}),
    since,
    sequences: sequences.map((one) => ({
      seed: one.seed,
      tokens: one.tokens,
      // As exact as they are written down everywhere else.
      logprobs: one.logprobs.map(Math.fround),
      entropies: one.entropies.map(Math.fround),
      mask: one.mask,
      segments: one.segments,
      answerStart: one.answerStart,
      places: one.places,
      ...(one.finish === undefined ? {} : { finish: one.finish }),
      ...(one.arm === undefined ? {} : { arm: one.arm }),
      tainted: one.tainted,
    })),
  }
}

/** Undefined for one that cannot be gone on with, such as that of a task that is no longer known here. */
export function resume(
  group: ParkedGroup,
  by: { tasks: TaskBook; tokenizer: Tokenizer },
): { order: Order; sequences: Sequence[]; since: number } | undefined {
  try {
    return begunAgain(group, by)
  } catch {
    // It would fail in every round from now on.
    return undefined
  }
}

function begunAgain(
  group: ParkedGroup,
  { tasks, tokenizer }: { tasks: TaskBook; tokenizer: Tokenizer },
): { order: Order; sequences: Sequence[]; since: number } | undefined {
  const { prompt, composed, since } = group
  const task = tasks.find(prompt.task, prompt.taskVersion)
  if (!task) return undefined
  const order: Order = {
    prompt,
    rollouts: group.sequences.length,
    task,
    instance: task.generate(prompt),
    conditioning: Int32Array.from(group.conditioning),
    composed,
  }
  const sequences = group.sequences.map((parked) => {
    const begun = beginSequence(order, parked.seed)
    // Episodes are played again up to where they were: the environment's state is a function of the answers.
    for (const place of parked.places) {
      begun.tokens = parked.tokens.slice(0, place.start + place.length)
      begun.answerStart = place.start
      endAnswer(begun, 'stop', tokenizer)
    }
    const { finish: _, ...played } = begun
    return { ...played, ...structuredClone(parked) }
  })
  return { order, sequences, since }
}
