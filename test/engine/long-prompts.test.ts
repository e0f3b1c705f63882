// Long prompts are read in pieces, so that their attention takes no more memory than a piece's.

import { expect, test } from 'vitest'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import { createHostCache } from '../../daemon/engine/onnx/host/cache.ts'
import { createKeptSequences } from '../../daemon/engine/onnx/host/kept.ts'
import { piecesFor } from '../../daemon/engine/onnx/host/reading.ts'
import { createRuntime, type Runtime } from '../../daemon/engine/onnx/runtime/runtime.ts'
import { randomTokens, randomWeights, SPEC } from './model.ts'

const WINDOWED: DecoderSpec = { ...SPEC, local: { window: 9, layers: [0] } }
const weights = randomWeights(SPEC, 1)

/** A cache for two sequences, with the number of tokens of each run of the graph and its first layer's keys. */
function open(spec: DecoderSpec, { capacity, pieceTokens }: { capacity: number; pieceTokens?: number }) {
  const runtime = createRuntime({ threads: 1, maxSessions: 2 })
  const lengths: number[] = []
  const keys: Float32Array[] = []
  const watched: Runtime = {
    ...runtime,
    async compile(...asked) {
      const graph = await runtime.compile(...asked)
      return {
        ...graph,
        run(feeds, sizes) {
          lengths.push(sizes!.length!)
          keys.push(feeds['keys.0'] as Float32Array)
          return graph.run(feeds, sizes)
        },
      }
    },
  }
  const cache = createHostCache(
    { spec, slots: 2, capacity },
    {
      ...{ runtime: watched, weights, packing: undefined, kept: createKeptSequences({ most: 1e9 }) },
      ...(pieceTokens === undefined ? {} : { pieceTokens }),
    },
  )
  return { cache, lengths, keys }
}

test.each([
  ['full attention', SPEC],
  ['a sliding window', WINDOWED],
])('with %s, a prompt that is read in pieces gives what it gives whole', async (_, spec) => {
  const prompts = [randomTokens(spec, 40, 1), randomTokens(spec, 23, 2)]
  const logitsOf = async (pieceTokens: number): Promise<Float32Array[]> => {
    const { cache, lengths } = open(spec, { capacity: 64, pieceTokens })
    const read = (await cache.read(prompts.map((tokens) => ({ tokens, isConversation: true }))))!
    expect(Math.max(...lengths)).toBeLessThanOrEqual(pieceTokens)
    expect(read.map(({ length, reused }) => [length, reused])).toEqual([
      [40, 0],
      [23, 0],
    ])
    await cache.load(read.map((prompt, slot) => ({ slot, prompt })))
    const next = await cache.decode(Int32Array.of(5, 6), Int32Array.of(40, 23))
    return [...read.map(({ logits }) => logits), next]
  }
  const whole = await logitsOf(64)
  const pieces = await logitsOf(7)
  for (const [i, logits] of whole.entries())
    for (const [token, logit] of logits.entries()) expect(pieces[i]![token]).toBeCloseTo(logit, 4)
})

test('no more than a thousand tokens of a prompt are read at once', async () => {
  const { cache, lengths } = open(SPEC, { capacity: 4096 })
  await cache.read([{ tokens: randomTokens(SPEC, 3000, 3), isConversation: false }])
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(3000)
  expect(Math.max(...lengths)).toBeLessThanOrEqual(1024)
})

test('a prompt that nobody wants any more is not read to its end', async () => {
  const { cache, lengths } = open(SPEC, { capacity: 64, pieceTokens: 7 })
  let looks = 0
  const read = await cache.read([{ tokens: randomTokens(SPEC, 40, 1) }], () => ++looks < 3)
  expect([read, lengths]).toEqual([undefined, [7, 7]])
})

test('of a very long prompt fewer are read at once, since each attends to all before it', () => {
  const heads = 14
  expect(piecesFor(1000, { heads })).toBe(1024)
  for (const length of [4096, 32_768]) {
    const scores = piecesFor(length, { heads }) * length * heads
    expect(scores).toBeGreaterThan(0.9 * 2 ** 24)
    expect(scores).toBeLessThanOrEqual(2 ** 24)
  }
})

test('memory of the cache is given back when it grows and when it is closed, and that of a piece when it was read', async () => {
  const { cache, keys } = open(SPEC, { capacity: 32, pieceTokens: 4 })
  const [prompt] = (await cache.read([{ tokens: randomTokens(SPEC, 9, 3), isConversation: false }]))!
  expect(keys.map(({ length }) => length)).toEqual([0, 0, 0])
  const next = () => cache.decode(Int32Array.of(5, 6), Int32Array.of(9, -1))
  await cache.load([{ slot: 0, prompt: prompt! }])
  await next()
  const small = keys.at(-1)!
  expect(small.length).toBeGreaterThan(0)
  await cache.resize([0], { slots: 2, capacity: 64 })
  await next()
  const large = keys.at(-1)!
  expect([small.length, large.length > 0]).toEqual([0, true])
  cache.close()
  expect(large.length).toBe(0)
})
