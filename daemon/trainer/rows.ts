// Turns groups into training rows: one row per rollout, with the columns that objectives read, grouped by
// author.

import type { Advantages, Columns, Teaching } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type { TrainSequence } from '../engine/engine.ts'

export interface Row extends TrainSequence {
  /** Peer ID of the author, if this is a borrowed rollout in an own group. */
  borrowed?: string
  columns: Record<string, Float32Array | number>
}

export interface RowOptions {
  /** This node's peer ID, lineage and policy version, for `foreign` and `staleness`. */
  self: string
  lineage: string
  version: number
  /** False if the author's log-probs must be ignored. */
  isBelieved(author: string): boolean
  /** The objective's own columns, in addition to those that every row has. */
  columns?: Columns
  /** What teachers say. Only this node's own answers are taught. */
  teaching?: Teaching | undefined
}

/** One author's rows in a batch. */
export interface AuthorRows {
  author: string
  /** Rows by group. */
  groups: Row[][]
}

/** Larger advantages are clipped, so that an estimator that divides by a tiny spread cannot dominate the batch. */
const LARGEST_ADVANTAGE = 10

/** Rows of this node, and of each peer in order of first appearance; both by group. */
export function rowsByAuthor(
  groups: readonly Group[],
  advantages: Advantages,
  options: RowOptions,
): { own: Row[][]; foreign: AuthorRows[] } {
  const own: Row[][] = []
  const foreign = new Map<string, Row[][]>()
  groups.forEach((group, g) => {
    const rows = group.rollouts.map((_, r) => {
      const row = rowOf(group, r, advantages[g]![r]!, options)
      for (const [name, column] of Object.entries(options.columns ?? {}))
        row.columns[name] = typeof column === 'number' ? column : column[g]![r]!
      const teacher = options.teaching?.[g]?.[r]
      if (teacher && row.columns.foreign === 0) row.teacher = teacher
      return row
    })
    if (group.author === options.self) own.push(rows)
    else foreign.set(group.author, [...(foreign.get(group.author) ?? []), rows])
  })
  return { own, foreign: [...foreign].map(([author, rows]) => ({ author, groups: rows })) }
}

function rowOf(
  group: Group,
  index: number,
  advantage: number | Float32Array,
  { self, lineage, version, isBelieved }: RowOptions,
): Row {
  const { tokens, behaviourLogprobs, segments, lossMask, conditioning, replayed, author } =
    group.rollouts[index]!
  const borrowed = author !== undefined && author !== self ? author : undefined
  const foreign = group.author !== self || borrowed !== undefined
  const staleness = new Float32Array(tokens.length)
  for (const segment of segments) {
    const age =
      group.policy.lineage === lineage && !foreign ? version - segment.version : version - group.bornVersion
    staleness.fill(Math.max(0, age), segment.start, segment.start + segment.length)
  }
  const known = behaviourLogprobs !== undefined && (!foreign || isBelieved(borrowed ?? group.author))
  return {
    ...(borrowed === undefined ? {} : { borrowed }),
    conditioning: conditioning ?? group.conditioning,
    completion: tokens,
    columns: {
      ...(lossMask && { mask: Float32Array.from(lossMask, (kept) => (kept ? 1 : 0)) }),
      advantage: typeof advantage === 'number' ? bounded(advantage) : advantage.map(bounded),
      behaviour: known ? behaviourLogprobs : 0,
      known: known ? 1 : 0,
      staleness,
      foreign: foreign ? 1 : 0,
      replayed: replayed === undefined ? 0 : 1,
    },
  }
}

function bounded(advantage: number): number {
  return Math.max(-LARGEST_ADVANTAGE, Math.min(LARGEST_ADVANTAGE, advantage))
}
