// Tokens drawn on a device, beside tokens drawn by the host from the same logits.

import { expect, test } from 'vitest'
import type { Core } from '../../daemon/engine/core.ts'
import type { GenerateRequest } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { drawsOnDevice, pointFeeds } from '../../daemon/engine/onnx/resident/drawing.ts'
import { randomTokens, randomWeights, SPEC } from './model.ts'

/** Not a multiple of a block. */
const spec = { ...SPEC, vocabulary: 5000 }
const requestOf = (more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  samples: Array.from({ length: 9 }, (_, seed) => ({ prompt: randomTokens(spec, 3, seed % 2), seed })),
  ...{ maxNewTokens: 12, temperature: 1, stopTokens: [] },
  ...more,
})

async function onBoth(request: GenerateRequest) {
  expect(drawsOnDevice(spec.vocabulary)).toBe(true)
  const cores = [true, false].map((isResident): Core => createCore({ isResident, threads: 1, now: () => 0 }))
  const [found, expected] = await Promise.all(
    cores.map(async (core) => {
      await core.open({ spec, weights: randomWeights(spec, 1) })
      return core.generate(request)
    }),
  )
  for (const core of cores) await core.close()
  return { found: found!, expected: expected! }
}

test.each([1, 0.6, 1.7, 0])(
  'at temperature %s both draw the same tokens and report the same',
  async (temperature) => {
    const { found, expected } = await onBoth(requestOf({ temperature }))
    expect(found.map(({ tokens }) => [...tokens])).toEqual(expected.map(({ tokens }) => [...tokens]))
    for (const which of ['logprobs', 'policyLogprobs', 'entropies'] as const)
      for (const [i, sample] of found.entries())
        for (const [k, value] of sample[which].entries())
          expect(value).toBeCloseTo(expected[i]![which][k]!, 4)
  },
)

test('where only the likeliest tokens may be drawn, the host draws', async () => {
  const { found, expected } = await onBoth(requestOf({ topK: 5 }))
  expect(found.map(({ tokens }) => [...tokens])).toEqual(expected.map(({ tokens }) => [...tokens]))
})

test('logits that are not finite are refused', async () => {
  const untied = { ...spec, tiedEmbeddings: false }
  const core = createCore({ isResident: true, threads: 1, now: () => 0 })
  const weights = randomWeights(untied, 1)
  await core.open({ spec: untied, weights })
  // The first token comes from the host.
  const [sample] = await core.generate(requestOf({ maxNewTokens: 1 }))
  const at = sample!.tokens[0]! * spec.width
  const table = weights['model.embed_tokens.weight'] as Float32Array
  table.fill(Number.NaN, at, at + spec.width)
  await core.open({ spec: untied, weights })
  await expect(core.generate(requestOf())).rejects.toThrow('not finite')
  await core.close()
})

test('points and temperatures stay within what single precision can hold', () => {
  const { points, inverses } = pointFeeds([
    { u: 1 - 2 ** -32, temperature: 1 },
    { u: 0.5, temperature: 1e-60 },
  ])
  expect(points![0]).toBeLessThan(1)
  expect(Number.isFinite(inverses![1])).toBe(true)
})
