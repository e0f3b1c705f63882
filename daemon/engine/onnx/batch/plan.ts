// Cuts a batch of sequences into micro-batches.
//
// Sequences with the same conditioning share its prefix and form units of at most 16 rows. Units are sorted by
// rows and length. A micro-batch takes units as long as its tokens stay within the budget. Only attention sees padding
// (`packing.ts`); a limit on slots keeps padding small if lengths differ a lot. A micro-batch may have any size,
// because graphs are compiled for all sizes.

import type { BatchShape } from './packing.ts'

export interface PlannedSequence {
  conditioning: Int32Array
  completion: Int32Array
}

export interface MicroBatch {
  shape: BatchShape
  /** Indices into the batch, at most `shape.rows` for each of `shape.groups` units. */
  units: number[][]
}

interface PlanOptions {
  /** Most tokens of a micro-batch. A single row with its prefix may have more. */
  tokens: number
}

interface Unit {
  prefix: number
  segment: number
  segmentTokens: number
  members: number[]
}

/** Most rows of a unit. */
const MAX_ROWS = 16
/** Most attention slots per token of the budget. */
const SLOTS_PER_TOKEN = 2

export function plan(sequences: readonly PlannedSequence[], { tokens }: PlanOptions): MicroBatch[] {
  const units: Unit[] = []
  for (const members of groupByConditioning(sequences)) {
    const length = (i: number): number => sequences[i]!.completion.length
    members.sort((a, b) => length(a) - length(b) || a - b)
    const prefix = sequences[members[0]!]!.conditioning.length - 1
    // Rows that share a prefix stay together as far as the budget allows. A single row may exceed it.
    const fit = Math.floor((tokens - prefix) / length(members.at(-1)!))
    for (const part of parts(members, Math.max(1, Math.min(MAX_ROWS, fit)))) {
      const segmentTokens = part.reduce((sum, i) => sum + length(i), 0)
      units.push({ prefix, segment: length(part.at(-1)!), segmentTokens, members: part })
    }
  }
  units.sort(
    (a, b) =>
      b.members.length - a.members.length ||
      b.segment - a.segment ||
      b.prefix - a.prefix ||
      a.members[0]! - b.members[0]!,
  )
  const batches: MicroBatch[] = []
  for (let taken = 0; taken < units.length; ) {
    const batch = takeMicroBatch(units.slice(taken), tokens)
    batches.push(batch)
    taken += batch.units.length
  }
  return batches
}

/** Takes the units of one micro-batch from the front of a sorted list. */
function takeMicroBatch(units: readonly Unit[], tokens: number): MicroBatch {
  let shape: BatchShape = { groups: 0, rows: 0, prefix: 1, segment: 0, segmentTokens: 0, prefixTokens: 0 }
  for (const unit of units) {
    const wider: BatchShape = {
      groups: shape.groups + 1,
      rows: Math.max(shape.rows, unit.members.length),
      prefix: Math.max(shape.prefix, unit.prefix),
      segment: Math.max(shape.segment, unit.segment),
      segmentTokens: shape.segmentTokens + unit.segmentTokens,
      prefixTokens: shape.prefixTokens + unit.prefix,
    }
    const slots = wider.groups * (wider.prefix + wider.rows * wider.segment)
    const full = wider.segmentTokens + wider.prefixTokens > tokens || slots > SLOTS_PER_TOKEN * tokens
    if (full && shape.groups > 0) break
    shape = wider
  }
  return { shape, units: units.slice(0, shape.groups).map(({ members }) => members) }
}

function groupByConditioning(sequences: readonly PlannedSequence[]): number[][] {
  const groups = new Map<string, number[]>()
  sequences.forEach(({ conditioning }, index) => {
    const key = Buffer.from(conditioning.buffer, conditioning.byteOffset, conditioning.byteLength).toString(
      'base64',
    )
    const group = groups.get(key)
    if (group) group.push(index)
    else groups.set(key, [index])
  })
  return [...groups.values()]
}

/** Cuts a list into parts of nearly equal length, at most `largest`. */
function parts(members: readonly number[], largest: number): number[][] {
  const count = Math.ceil(members.length / largest)
  const size = Math.ceil(members.length / count)
  return Array.from({ length: count }, (_, i) => members.slice(i * size, (i + 1) * size))
}
