// Groups whose generation was interrupted, to be resumed in a later round: first in, first out. Every token is kept,
// with its log-prob and policy version, and rollouts that had ended stay as they are. After APRIL (arXiv 2509.18521).
// Unlike in APRIL, groups that were complete at the end of the round can be parked too, and the list is part of the
// checkpoint.
//
// Groups taken for a round are saved until the round is over, so a crash loses nothing.

import type { Span } from '../../../protocol/plugin/index.ts'
import {
  type Finish,
  type PromptCoordinates,
  type ReadRow,
  readRow,
  reopenRow,
} from '../../../protocol/train/index.ts'
import { readRecord, writeRecord } from '../../../protocol/train/record.ts'
import type { Composed } from '../../host/contract.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { TaskBook } from '../tasks.ts'
import { beginSequence, type PromptJob, replayAnswers, type Sequence } from '../writing/sequence.ts'

/** Changes when the fields below change. */
const FORMAT = 'parked/4'

interface ParkedSequence {
  row: ReadRow
  seed: number
  answerStart: number
  /** Token ranges of complete answers, if the task has turns. */
  spans: Span[]
  finish?: Finish
  arm?: string
  tainted: boolean
}

export interface ParkedGroup {
  prompt: PromptCoordinates
  conditioning: Int32Array
  composed?: Composed
  /** The policy version when the group was begun. */
  since: number
  sequences: ParkedSequence[]
}

export interface ParkedGroups {
  readonly length: number
  /** Takes up to `most` of the oldest groups for a new round, and drops all that are not `wanted`. */
  take(most: number, wanted: (group: ParkedGroup) => boolean): ParkedGroup[]
  /** Call when the round is over. Drops the groups that were taken, and adds those parked in it. */
  endRound(parked: readonly ParkedGroup[]): void
  /** Call when the round failed. Puts the taken groups back at the front. */
  giveBack(): void
  clear(): void
  /** Undefined if there are none. */
  save(): Uint8Array | undefined
  /** Loads the record of `save`. For any other, leaves the list empty, which loses a round's work at most, and says why. */
  load(saved: Uint8Array): { dropped?: string }
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
    endRound(parked) {
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
    save: () =>
      taken.length + waiting.length === 0 ? undefined : writeRecord(FORMAT, [...taken, ...waiting]),
    load(saved) {
      taken = []
      waiting = []
      try {
        waiting = readRecord(FORMAT, saved) as ParkedGroup[]
        return {}
      } catch (error) {
        return { dropped: (error as Error).message }
      }
    },
  }
}

export function park(job: PromptJob, sequences: readonly Sequence[], since: number): ParkedGroup {
  return {
    prompt: job.prompt,
    conditioning: job.conditioning,
    ...(job.composed ? { composed: job.composed } : {}),
    since,
    sequences: sequences.map((one) => ({
      row: readRow(one, true),
      seed: one.seed,
      answerStart: one.answerStart,
      spans: one.spans,
      ...(one.finish === undefined ? {} : { finish: one.finish }),
      ...(one.arm === undefined ? {} : { arm: one.arm }),
      tainted: one.tainted,
    })),
  }
}

/** Undefined if the group cannot be resumed, for example because its task is gone. */
export function resume(
  group: ParkedGroup,
  parts: { tasks: TaskBook; tokenizer: Tokenizer },
): { job: PromptJob; sequences: Sequence[]; since: number } | undefined {
  try {
    return restore(group, parts)
  } catch {
    // If it were kept, every round from now on would fail.
    return undefined
  }
}

function restore(
  group: ParkedGroup,
  { tasks, tokenizer }: { tasks: TaskBook; tokenizer: Tokenizer },
): { job: PromptJob; sequences: Sequence[]; since: number } | undefined {
  const { prompt, composed, since } = group
  const task = tasks.find(prompt.task, prompt.taskVersion)
  if (!task) return undefined
  const job: PromptJob = {
    prompt,
    rollouts: group.sequences.length,
    task,
    instance: task.generate(prompt),
    conditioning: group.conditioning,
    composed,
  }
  const sequences = group.sequences.map(({ row, ...parked }) => {
    const begun = beginSequence(job, parked.seed)
    const reopened = reopenRow(row)
    replayAnswers(begun, reopened.tokens, parked.spans, tokenizer)
    const { finish: _, ...played } = begun
    return { ...played, ...structuredClone(parked), ...reopened }
  })
  return { job, sequences, since }
}
