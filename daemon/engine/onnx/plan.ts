// Cuts a batch of sequences into micro-batches of few distinct shapes.
//
// Sequences with the same conditioning share its prefix. Groups are cut into units of a power of two rows, units are
// sorted by length, and a micro-batch takes units while it stays within the token budget. Sizes are rounded up to
// coarse steps, since every distinct shape is a graph to compile: a little padding buys far fewer of them.

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

/** Rounds a length up: steps of 8 to 64, of 16 to 128, and so on, so that at most 1/8 or 7 tokens are padding. */
export function roundLength(length: number): number {
  const step = Math.max(8, 2 ** Math.floor(Math.log2(Math.max(length - 1, 1))) / 8)
  return Math.max(8, Math.ceil(length / step) * step)
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
    const prefix = roundLength(sequences[members[0]!]!.conditioning.length - 1)
    for (const part of powersOfTwo(members, maxRows)) {
      const segment = roundLength(Math.max(...part.map((i) => sequences[i]!.completion.length)))
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
  let groups = 1
  let prefix = units[0]!.prefix
  for (let count = 2; count <= units.length; count *= 2) {
    const wider = Math.max(...units.slice(0, count).map((unit) => unit.prefix))
    if (count * (wider + rows * segment) > tokens) break
    groups = count
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

/** Cuts a list into parts whose lengths are powers of two, largest first. */
function powersOfTwo(members: readonly number[], largest: number): number[][] {
  const parts: number[][] = []
  let start = 0
  while (start < members.length) {
    const size = Math.min(largest, 2 ** Math.floor(Math.log2(members.length - start)))
    parts.push(members.slice(start, start + size))
    start += size
  }
  return parts
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
