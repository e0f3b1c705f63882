// Sequences as padded tables: each row is a whole prompt with its completion, padded at the end. Rows of similar length
// are batched together. Rows share nothing.

import type { TrainSequence } from '../engine.ts'
import { columnOf } from '../inputs.ts'
import { restOf } from '../top-tokens.ts'
import type { Teacher } from './divergence.ts'

interface PackedSequence {
  conditioning: Int32Array
  completion: Int32Array
}

export interface Batch {
  /** Indices of the sequences, one per row. */
  members: number[]
  length: number
  /** Length of the longest completion. Tables over completion tokens are [rows, width]. */
  width: number
  tokens: Int32Array
  positions: Int32Array
  /**
   * For each cell of the table: the row of the flattened residual stream that predicts it, and the token it predicts.
   */
  sources: Int32Array
  targets: Int32Array
  mask: Float32Array
  realTokens: number
}

/** The last token is predicted but never read. */
const lengthOf = ({ conditioning, completion }: PackedSequence): number =>
  conditioning.length + completion.length - 1

/** Cuts sequences into batches of at most `tokens` tokens, padding included; a single sequence may have more. */
export function cut(sequences: readonly PackedSequence[], tokens: number): Batch[] {
  const order = sequences.map((_, i) => i)
  order.sort((a, b) => lengthOf(sequences[b]!) - lengthOf(sequences[a]!) || a - b)
  const batches: Batch[] = []
  while (order.length > 0) {
    const rows = Math.max(1, Math.floor(tokens / lengthOf(sequences[order[0]!]!)))
    batches.push(pack(sequences, order.splice(0, rows)))
  }
  return batches
}

function pack(sequences: readonly PackedSequence[], members: number[]): Batch {
  const length = lengthOf(sequences[members[0]!]!)
  const width = Math.max(...members.map((member) => sequences[member]!.completion.length))
  const batch: Batch = {
    members,
    length,
    width,
    tokens: new Int32Array(members.length * length),
    positions: new Int32Array(members.length * length),
    sources: new Int32Array(members.length * width),
    targets: new Int32Array(members.length * width),
    mask: new Float32Array(members.length * width),
    realTokens: 0,
  }
  members.forEach((member, row) => {
    const { conditioning, completion } = sequences[member]!
    const start = row * length
    batch.tokens.set(conditioning, start)
    batch.tokens.set(completion.subarray(0, -1), start + conditioning.length)
    for (let i = 0; i < length; i++) batch.positions[start + i] = i
    completion.forEach((token, i) => {
      batch.sources[row * width + i] = start + conditioning.length - 1 + i
      batch.targets[row * width + i] = token
      batch.mask[row * width + i] = 1
    })
    batch.realTokens += lengthOf(sequences[member]!)
  })
  return batch
}

/** A column as a [rows, width] table. A sequence's own mask narrows the mask. */
export function tableOf(sequences: readonly TrainSequence[], batch: Batch, column: string): Float32Array {
  const { members, width, mask } = batch
  const table = column === 'mask' ? mask.slice() : new Float32Array(mask.length)
  members.forEach((member, row) => {
    const values = columnOf(sequences[member]!, column)
    if (values === undefined) return
    const start = row * width
    if (typeof values === 'number') table.fill(values, start, start + sequences[member]!.completion.length)
    else table.set(values, start)
  })
  return table
}

/** What teachers say about each cell. A cell without a teacher gets equal parts of anything: it does not count. */
export function teacherOf(
  sequences: readonly TrainSequence[],
  { members, width }: Batch,
  count: number,
): Teacher {
  const cells = members.length * width
  const tokens = Int32Array.from({ length: cells * count }, (_, i) => i % count)
  const logprobs = new Float32Array(cells * (count + 1)).fill(-Math.log(count + 1))
  members.forEach((member, row) => {
    const { teacher, completion } = sequences[member]!
    if (!teacher) return
    tokens.set(teacher.tokens, row * width * count)
    for (let place = 0; place < completion.length; place++) {
      const named = teacher.logprobs.subarray(place * count, (place + 1) * count)
      const to = (row * width + place) * (count + 1)
      logprobs.set(named, to)
      logprobs[to + count] = restOf(named)
    }
  })
  return { cells, count, tokens, logprobs }
}
