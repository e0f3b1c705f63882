// Prompts of running sequences: which of them share keys and values.

import { expect, test } from 'vitest'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { createHostCache } from '../../daemon/engine/onnx/host/cache.ts'
import { createKeptSequences, type Piece } from '../../daemon/engine/onnx/host/kept.ts'
import { createPromptTable, type PromptTable } from '../../daemon/engine/onnx/host/prompt-table.ts'
import { feedsOf, withForms } from '../../daemon/engine/onnx/runtime/frozen.ts'
import { createRuntime } from '../../daemon/engine/onnx/runtime/runtime.ts'
import { quantize } from '../../daemon/engine/stored/quantize.ts'
import { expectSame } from '../conformance/engine-cases.ts'
import { randomTokens, randomWeights, SPEC } from './model.ts'
import { storedModel } from './stored.ts'

const width = SPEC.kvHeads * SPEC.headWidth

/** A prompt whose keys are all `mark`, long enough to be shared by two. */
function promptOf(mark: number, length = 500): readonly Piece[] {
  const layer = (): Float32Array => new Float32Array(length * width).fill(mark)
  const layers = (): Float32Array[] => Array.from({ length: SPEC.layers }, layer)
  return [{ stretch: { length, keys: layers(), values: layers() }, used: length }]
}

/** The mark of the prompt that each slot attends to in the table. */
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
  prompts.map((pieces, i) => ({ slot: from + i, pieces, waiting: 0 }))
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

test('a prompt of one sequence, or a short one, is not in the table', () => {
  const table = createPromptTable(SPEC, 4)
  table.load(entriesOf([promptOf(1), promptOf(2), ...times(2, promptOf(3, 100))]))
  expect(marksOf(table, 4)).toEqual(Array(4).fill(undefined))
  expect(table.sizes.shared).toBe(0)
})

test('few seats stay empty: where few share a prompt, rows have fewer', () => {
  const table = createPromptTable(SPEC, 16)
  const pairs = [1, 2, 3, 4].flatMap((mark) => times(2, promptOf(mark)))
  table.load(entriesOf([...times(8, promptOf(0)), ...pairs]))
  expect(table.sizes).toMatchObject({ prompts: 6, seats: 4 })
  expect(marksOf(table, 16)).toEqual([...Array(8).fill(0), 1, 1, 2, 2, 3, 3, 4, 4])
})

test('a sequence that starts later sits down where its prompt is, and another prompt where nobody is left', () => {
  const table = createPromptTable(SPEC, 4)
  const [one, two, three] = [promptOf(1), promptOf(2), promptOf(3, 501)]
  table.load(entriesOf([one, one, two, two]))
  const before = table.feeds(new Int32Array(4))['sharedKeys.0']
  table.clear(1)
  table.load(entriesOf([one], 1))
  table.clear(2)
  table.clear(3)
  table.load(entriesOf([three, three], 2))
  expect(marksOf(table, 4)).toEqual([1, 1, 3, 3])
  expect(table.feeds(new Int32Array(4))['sharedKeys.0']).toBe(before)
})

test('the first sequence of a prompt that others wait for has a row that they can sit down in', () => {
  const table = createPromptTable(SPEC, 4)
  const one = promptOf(1)
  table.load([{ slot: 0, pieces: one, waiting: 3 }])
  expect(table.sizes).toMatchObject({ prompts: 1, seats: 8 })
  const before = table.feeds(new Int32Array(4))['sharedKeys.0']
  table.load(entriesOf([one, one, one], 1))
  expect(marksOf(table, 4)).toEqual([1, 1, 1, 1])
  expect(table.feeds(new Int32Array(4))['sharedKeys.0']).toBe(before)
})

test('a longer prompt than the table has room for makes it longer', () => {
  const table = createPromptTable(SPEC, 4)
  table.load(entriesOf(times(2, promptOf(1))))
  expect(table.sizes.shared).toBe(512)
  table.load(entriesOf(times(2, promptOf(2, 513)), 2))
  expect(table.sizes.shared).toBe(544)
  expect(marksOf(table, 4)).toEqual([1, 1, 2, 2])
  const bias = table.feeds(new Int32Array(4)).sharedBias as Float32Array
  const at = (slot: number, token: number): boolean => bias[slot * 544 + token] === 0
  expect([at(0, 499), at(0, 500), at(2, 512), at(2, 513)]).toEqual([true, false, true, false])
})

test('slots that are kept keep their prompts', () => {
  const table = createPromptTable(SPEC, 4)
  const [one, two] = [promptOf(1), promptOf(2)]
  table.load(entriesOf([one, one, two, two]))
  table.resize([3, 1], 3)
  expect(marksOf(table, 3)).toEqual([2, 1, undefined])
})

test('with a sliding window, tokens before it are masked', () => {
  const table = createPromptTable({ ...SPEC, local: { window: 3, layers: [0] } }, 2)
  table.load(entriesOf(times(2, promptOf(1))))
  const near = table.feeds(Int32Array.of(501, 500)).localSharedBias as Float32Array
  const open = (slot: number) => [497, 498, 499, 500].filter((token) => near[slot * 512 + token] === 0)
  expect([open(0), open(1)]).toEqual([[499], [498, 499]])
})

test.each([
  ['full attention', {}],
  ['a sliding window', { local: { window: 70, layers: [0] } }],
])('with %s, sequences that share prompts write what each writes alone', async (_, more) => {
  const spec = { ...SPEC, contextLength: 256, ...more }
  const core = createCore({ threads: 1, now: () => 0 })
  await core.open({ spec, weights: randomWeights(spec, 1) })
  const prompts = [0, 1, 2].map((i) => randomTokens(spec, 75 + 20 * i, i))
  // Eleven of each prompt but the last, in eight slots: sequences that end leave a seat to those that wait.
  const samples = Array.from({ length: 23 }, (_, seed) => ({
    ...{ prompt: prompts[Math.floor(seed / 11)]!, seed },
    maxNewTokens: 3 + ((7 * seed) % 50),
  }))
  const request = { maxNewTokens: 50, temperature: 1, stopTokens: [], slots: 8 }
  const together = await core.generate({ ...request, samples })
  for (const [i, sample] of samples.entries()) {
    const [alone] = await core.generate({ ...request, samples: [sample] })
    expectSame(together[i]!, alone!)
  }
  await core.close()
})

test('packed weights are held by one graph: once prompts have been shared, by the one that shares', async () => {
  const spec = {
    ...SPEC,
    ...{
      width: 32,
      headWidth: 8,
      feedForward: 64,
      ropeFrequencies: [1, 0.1, 0.01, 0.001],
      contextLength: 600,
    },
    adapter: { rank: 2, alpha: 4, targets: ['q_proj' as const] },
  }
  const { stored } = storedModel(spec, (values) => quantize(values, 4))
  const runtime = createRuntime({ threads: 1, maxSessions: 8 })
  const parts = { runtime, weights: feedsOf(stored), packing: 'floats' as const }
  const cache = createHostCache(
    { spec: withForms(spec, stored), slots: 2, capacity: 520 },
    { ...parts, kept: createKeptSequences({ most: 1e9 }) },
  )
  const graphs = () => ['sampling', 'sampling shared'].filter((key) => runtime.has(key))
  const [prompt] = (await cache.read([{ tokens: randomTokens(spec, 510, 1) }]))!
  await cache.load([{ slot: 0, prompt: prompt! }])
  const apart = await cache.decode(Int32Array.of(5, 0), Int32Array.of(510, -1))
  expect(graphs()).toEqual(['sampling'])
  cache.clear(0)
  await cache.load([0, 1].map((slot) => ({ slot, prompt: prompt! })))
  const shared = await cache.decode(Int32Array.of(5, 5), Int32Array.of(510, 510))
  await cache.read([{ tokens: randomTokens(spec, 20, 2) }])
  expect(graphs()).toEqual(['sampling shared'])
  for (let token = 0; token < spec.vocabulary; token++) expect(shared[token]).toBeCloseTo(apart[token]!, 4)
  cache.close()
  await runtime.close()
})
