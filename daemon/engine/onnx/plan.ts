// Cuts a batch of sequences into micro-batches.
//
// Sequences with the same conditioning share its prefix: they form units of at most `maxRows` rows. Units with as many
// rows are sorted by length, and a micro-batch takes units while it stays within the token budget, so that little of it
// is padding. Any size will do, since graphs are compiled for all of them.

import type { BatchShape } from './decoder.ts'

export interface PlannedSequence {
  conditioning: Int32Array
  completion: Int32Array
}

export interface MicroBatch {
  shape: BatchShape
  /** Indices into the batch, `shape.rows` for each of at most `shape.groups` units. */
  units: number[][]
}

export interface PlanOptions {
  /** Tokens, padding included, that a micro-batch may have. One unit may exceed it if it must. */
  tokens: number
  maxRows?: number
}

interface Unit {
  rows: number
  prefix: number
  segment: number
  members: number[]
}

export function plan(
  sequences: readonly PlannedSequence[],
  { tokens, maxRows = 16 }: PlanOptions,
): MicroBatch[] {
  const byRows = new Map<number, Unit[]>()
  for (const members of groupByConditioning(sequences)) {
    members.sort((a, b) => sequences[a]!.completion.length - sequences[b]!.completion.length || a - b)
    const prefix = Math.max(1, sequences[members[0]!]!.conditioning.length - 1)
    for (const part of parts(members, maxRows)) {
      const segment = Math.max(...part.map((i) => sequences[i]!.completion.length))
      const units = byRows.get(part.length) ?? []
      units.push({ rows: part.length, prefix, segment, members: part })
      byRows.set(part.length, units)
    }
  }
  const batches: MicroBatch[] = []
  for (const [, units] of [...byRows].sort(([a], [b]) => b - a)) {
    units.sort((a, b) => b.segment - a.segment || b.prefix - a.prefix || a.members[0]! - b.members[0]!)
    while (units.length > 0) batches.push(takeMicroBatch(units, tokens))
  }
  return batches
}

/** Takes the longest units from the front of a sorted list. */
function takeMicroBatch(units: Unit[], tokens: number): MicroBatch {
  const { rows, segment } = units[0]!
  let prefix = 0
  let groups = 0
  for (const unit of units) {
    const wider = Math.max(prefix, unit.prefix)
    if (groups > 0 && (groups + 1) * (wider + rows * segment) > tokens) break
    groups += 1
    prefix = wider
  }
  const taken = units.splice(0, groups)
  return { shape: { groups, rows, prefix, segment }, units: taken.map((unit) => unit.members) }
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

export interface PackedBatch {
  tokens: Int32Array
  positions: BigInt64Array
  prefixBias: Float32Array
  targets: Int32Array
  mask: Float32Array
  realTokens: number
}

/** The arrays of a micro-batch, in the layout of `decoder.ts`. */
export function pack(sequences: readonly PlannedSequence[], { shape, units }: MicroBatch): PackedBatch {
  const { groups, rows, prefix, segment } = shape
  const prefixes = groups * prefix
  const count = prefixes + groups * rows * segment
  const tokens = new Int32Array(count)
  const positions = new BigInt64Array(count)
  const prefixBias = new Float32Array(prefixes).fill(-1e9)
  const targets = new Int32Array(groups * rows * segment)
  const mask = new Float32Array(groups * rows * segment)
  let realTokens = 0
  units.forEach((members, group) => {
    const { conditioning } = sequences[members[0]!]!
    const length = conditioning.length - 1
    for (let i = 0; i < length; i++) {
      tokens[group * prefix + i] = conditioning[i]!
      positions[group * prefix + i] = BigInt(i)
      prefixBias[group * prefix + i] = 0
    }
    realTokens += length
    members.forEach((member, row) => {
      const { completion } = sequences[member]!
      const at = (group * rows + row) * segment
      for (let i = 0; i < completion.length; i++) {
        tokens[prefixes + at + i] = i === 0 ? conditioning[length]! : completion[i - 1]!
        positions[prefixes + at + i] = BigInt(length + i)
        targets[at + i] = completion[i]!
        mask[at + i] = 1
      }
      realTokens += completion.length
    })
  })
  return { tokens, positions, prefixBias, targets, mask, realTokens }
}
