// Turns finished sequences into rollouts and groups. Verifies every completion and records how it was
// written.

import { transcriptOf, turnsOf } from '../../../protocol/plugin/index.ts'
import {
  type Group,
  type Origin,
  type PolicyReference,
  type Rollout,
  readRow,
} from '../../../protocol/train/index.ts'
import { contentId } from '../../../protocol/wire/index.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { PromptJob, Sequence } from './sequence.ts'

export interface GroupOptions {
  policy: PolicyReference
  /** This node's peer ID. */
  author: string
  /** ms since the epoch. */
  now(): number
}

/** An order and the sequences written for it. */
export interface Written {
  job: PromptJob
  sequences: readonly Sequence[]
  /** The policy version when the group was begun, if that was in an earlier round. */
  since?: number | undefined
}

/**
 * Makes one group of everything that was written; undefined if nothing was. The group has the conditioning of the first
 * order; rollouts with another conditioning carry their own.
 */
export function groupOf(
  written: readonly Written[],
  { policy, author, now }: GroupOptions,
  tokenizer: Tokenizer,
  origin?: Origin,
): Group | undefined {
  const first = written[0]?.job
  if (!first) return undefined
  const finished = written.map(({ sequences }) =>
    sequences.filter(({ finish, tokens, given }) => finish !== undefined && tokens.length > given),
  )
  const arm = armOf(first, finished[0]!)
  const rollouts = finished.flatMap((sequences, i) => {
    const { job } = written[i]!
    return sequences.map((sequence) => {
      const own = sequence.arm ?? job.composed?.arm ?? 'base'
      return {
        ...rolloutOf(sequence, tokenizer),
        ...(job === first || sameTokens(job.conditioning, first.conditioning)
          ? {}
          : { conditioning: job.conditioning }),
        ...(own === arm ? {} : { arm: own }),
      }
    })
  })
  if (rollouts.length === 0) return undefined
  const tainted =
    written.some(({ job }) => job.composed?.tainted) || finished.flat().some((one) => one.tainted)
  const from = origin ?? first.composed?.origin
  return {
    id: contentId(
      first.prompt,
      rollouts.map(({ text }) => text),
    ),
    prompt: first.prompt,
    conditioning: first.conditioning,
    author,
    policy,
    arm,
    ...(from ? { origin: from } : {}),
    ...(tainted ? { tainted } : {}),
    rollouts,
    bornAt: now(),
    // The sampler may be some versions behind the trainer.
    bornVersion: Math.min(
      policy.version,
      ...written.map(({ since = policy.version }) => since),
      ...rollouts.map(({ segments }) => segments[0]?.version ?? policy.version),
    ),
  }
}

/** If any episode has an arm from a prefix or a later turn, it counts for the whole group, which is then not shared. */
function armOf({ composed }: PromptJob, sequences: readonly Sequence[]): string {
  return composed?.arm ?? sequences.find(({ arm }) => arm !== undefined)?.arm ?? 'base'
}

function sameTokens(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((token, i) => token === b[i])
}

/** The reward comes from this node's own verifier. */
export function rolloutOf(sequence: Sequence, tokenizer: Tokenizer): Rollout {
  const { job, play, spans, given, finish = 'aborted' } = sequence
  const row = readRow(sequence, play !== undefined || given > 0)
  const text = play ? transcriptOf(play) : tokenizer.decodeCompletion(row.tokens)
  const { score, parts } = job.task.verify(job.instance, text)
  return {
    text,
    ...row,
    finish,
    reward: score,
    ...(parts ? { rewardParts: parts } : {}),
    ...(given > 0 ? { prefix: given } : {}),
    ...(play ? { turns: turnsOf(play, spans) } : {}),
  }
}
