// Prompts of running sequences: which of them share keys and values.

import { expect, test } from 'vitest'
import type { Piece } from '../../daemon/engine/onnx/host/kept.ts'
import { createPromptTable, type PromptTable } from '../../daemon/engine/onnx/host/prompt-table.ts'
import { SPEC } from './model.ts'

const width = SPEC.kvHeads * SPEC.headWidth

/** A prompt whose keys are all `mark`. */
function promptOf(mark: number, length = 5): readonly Piece[] {
  const layer = (): Float32Array => new Float32Array(length * width).fill(mark)
  const layers = (): Float32Array[] => Array.from({ length: SPEC.layers }, layer)
  return [{ stretch: { length, keys: layers(), values: layers() }, used: length }]
}

/** The mark of the prompt that each slot attends to. */
function marksOf(table: PromptTable, slots: number): (number | undefined)[] {
  const { seats, shared } = table.sizes
  const feeds = table.feeds(new Int32Array(slots))
  const [keys, places] = [feeds['sharedKeys.0'] as Float32Array, feeds.places as Int32Array]
  return Array.from({ length: slots }, (_, slot) =>
    table.lengthOf(slot) === 0
      ? undefined
      : keys[Math.floor(places[slot]! / seats) * SPEC.kvHeads * shared * SPEC.headWidth],
  )
}

const entriesOf = (prompts: readonly (readonly Piece[])[], from = 0) =>
  prompts.map((pieces, i) => ({ slot: from + i, pieces }))
const times = (count: number, one: readonly Piece[]) => Array.from({ length: count }, () => one)

test('eight sequences of a prompt share one row', () => {
  const table = createPromptTable(SPEC, 16)
  table.load(entriesOf([...times(8, promptOf(1)), ...times(8, promptOf(2))]))
  expect(table.sizes).toMatchObject({ prompts: 2, seats: 8 })
  expect(marksOf(table, 16)).toEqual([...Array(8).fill(1), ...Array(8).fill(2)])
})

test('more sequences of a prompt than a row has seats take another row', () => {
  const table = createPromptTable(SPEC, 16)
  table.load(entriesOf(times(9, promptOf(1))))
  expect(table.sizes).toMatchObject({ prompts: 2, seats: 8 })
  expect(marksOf(table, 9)).toEqual(Array(9).fill(1))
})

test('few seats stay empty: where hardly anybody shares, rows have fewer', () => {
  const table = createPromptTable(SPEC, 16)
  table.load(entriesOf([...times(8, promptOf(0)), ...Array.from({ length: 8 }, (_, i) => promptOf(i + 1))]))
  expect(table.sizes).toMatchObject({ prompts: 12, seats: 2 })
  expect(marksOf(table, 16)).toEqual([...Array(8).fill(0), 1, 2, 3, 4, 5, 6, 7, 8])
})

test('a sequence that starts later sits down where its prompt is, and another prompt where nobody is left', () => {
  const table = createPromptTable(SPEC, 4)
  const [one, two, three] = [promptOf(1), promptOf(2), promptOf(3, 7)]
  table.load(entriesOf([one, one, two, two]))
  const before = table.feeds(new Int32Array(4))['sharedKeys.0']
  table.clear(1)
  table.load([{ slot: 1, pieces: one }])
  table.clear(2)
  table.clear(3)
  table.load([{ slot: 2, pieces: three }])
  expect(marksOf(table, 4)).toEqual([1, 1, 3, undefined])
  expect(table.feeds(new Int32Array(4))['sharedKeys.0']).toBe(before)
})

test('a longer prompt than the table has room for makes it longer', () => {
  const table = createPromptTable(SPEC, 2)
  table.load(entriesOf([promptOf(1)]))
  expect(table.sizes.shared).toBe(32)
  table.load([{ slot: 1, pieces: promptOf(2, 33) }])
  expect(table.sizes.shared).toBe(64)
  expect(marksOf(table, 2)).toEqual([1, 2])
  const bias = table.feeds(new Int32Array(2)).sharedBias as Float32Array
  expect([bias[4], bias[5]! < -1e8, bias[64 + 32], bias[64 + 33]! < -1e8]).toEqual([0, true, 0, true])
})

test('slots that are kept keep their prompts', () => {
  const table = createPromptTable(SPEC, 4)
  table.load(entriesOf([promptOf(1), promptOf(2), promptOf(3), promptOf(4)]))
  table.resize([3, 1], 3)
  expect(marksOf(table, 3)).toEqual([4, 2, undefined])
})

test('with a sliding window, tokens before it are masked', () => {
  const table = createPromptTable({ ...SPEC, local: { window: 3, layers: [0] } }, 1)
  table.load(entriesOf([promptOf(1)]))
  const near = table.feeds(Int32Array.of(6)).localSharedBias as Float32Array
  expect([...near.subarray(0, 5)].map((bias) => bias === 0)).toEqual([false, false, false, false, true])
})
