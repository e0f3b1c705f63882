// Fills the arrays of a micro-batch, in the layout of `packing.ts`.

import { restOf } from '../../top-tokens.ts'
import type { TrainSequence } from '../../trainer.ts'
import type { MicroBatch, PlannedSequence } from './plan.ts'

export interface PackedBatch {
  tokens: Int32Array
  positions: BigInt64Array
  segmentSlots: Int32Array
  segmentTokens: Int32Array
  prefixSlots: Int32Array
  prefixTokens: Int32Array
  prefixBias: Float32Array
  targets: Int32Array
  /** [groups * rows, segment]: 1 where a slot has a token. */
  mask: Float32Array
  rows: readonly PackedRow[]
}

/** Where one sequence lies in the batch. */
interface PackedRow {
  member: number
  /** Packed position of its first segment token. */
  start: number
  /** Its first slot. */
  slot: number
  length: number
}

const MASKED = -1e9

export function pack(sequences: readonly PlannedSequence[], { shape, units }: MicroBatch): PackedBatch {
  const { groups, rows: width, prefix, segment } = shape
  const count = 1 + shape.segmentTokens + shape.prefixTokens
  const tokens = new Int32Array(count)
  const positions = new BigInt64Array(count)
  const segmentSlots = new Int32Array(groups * width * segment)
  const segmentTokens = new Int32Array(shape.segmentTokens)
  const prefixSlots = new Int32Array(groups * prefix)
  const prefixTokens = new Int32Array(shape.prefixTokens)
  const prefixBias = new Float32Array(groups * prefix).fill(MASKED)
  const targets = new Int32Array(1 + shape.segmentTokens)
  const mask = new Float32Array(groups * width * segment)
  const rows: PackedRow[] = []
  const firstPrefix = 1 + shape.segmentTokens
  let nextSegment = 1
  let nextPrefix = firstPrefix
  units.forEach((members, group) => {
    const { conditioning } = sequences[members[0]!]!
    const last = conditioning.length - 1
    for (let i = 0; i < last; i++) {
      const slot = group * prefix + i
      tokens[nextPrefix] = conditioning[i]!
      positions[nextPrefix] = BigInt(i)
      prefixSlots[slot] = nextPrefix
      prefixTokens[nextPrefix - firstPrefix] = slot
      prefixBias[slot] = 0
      nextPrefix += 1
    }
    members.forEach((member, row) => {
      const { completion } = sequences[member]!
      const first = (group * width + row) * segment
      rows.push({ member, start: nextSegment, slot: first, length: completion.length })
      for (let i = 0; i < completion.length; i++) {
        tokens[nextSegment] = i === 0 ? conditioning[last]! : completion[i - 1]!
        positions[nextSegment] = BigInt(last + i)
        targets[nextSegment] = completion[i]!
        segmentSlots[first + i] = nextSegment
        segmentTokens[nextSegment - 1] = first + i
        mask[first + i] = 1
        nextSegment += 1
      }
    })
  })
  return {
    tokens,
    positions,
    segmentSlots,
    segmentTokens,
    prefixSlots,
    prefixTokens,
    prefixBias,
    targets,
    mask,
    rows,
  }
}

/**
 * What teachers say about each packed token: the ids of `count` tokens, and their log-probs followed by that of the rest.
 * A token without a teacher gets equal parts of anything, since the objective does not count it.
 */
export function packTeacher(
  sequences: readonly Pick<TrainSequence, 'teacher'>[],
  { targets, rows }: PackedBatch,
  count: number,
): { teacherTokens: Int32Array; teacherLogprobs: Float32Array } {
  const width = count + 1
  const teacherTokens = Int32Array.from({ length: targets.length * count }, (_, i) => i % count)
  const teacherLogprobs = new Float32Array(targets.length * width).fill(-Math.log(width))
  for (const { member, start } of rows) {
    const { teacher } = sequences[member]!
    if (!teacher) continue
    teacherTokens.set(teacher.tokens, start * count)
    for (let from = 0; from < teacher.logprobs.length; from += count) {
      const named = teacher.logprobs.subarray(from, from + count)
      const to = start * width + (from / count) * width
      teacherLogprobs.set(named, to)
      teacherLogprobs[to + count] = restOf(named)
    }
  }
  return { teacherTokens, teacherLogprobs }
}
