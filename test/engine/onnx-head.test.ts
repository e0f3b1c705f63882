// The part of a model that is as wide as its vocabulary, in one piece and in parts.

import { expect, test } from 'vitest'
import { type DecoderSpec, trainableShapes } from '../../daemon/engine/decoder.ts'
import { pack, packTeacher } from '../../daemon/engine/onnx/batch/pack.ts'
import { plan } from '../../daemon/engine/onnx/batch/plan.ts'
import { partSizes, partsFor } from '../../daemon/engine/onnx/decoder/parts.ts'
import { buildGradient, buildScore } from '../../daemon/engine/onnx/decoder/training.ts'
import { createRuntime } from '../../daemon/engine/onnx/runtime/runtime.ts'
import { inputsOf } from '../../daemon/engine/onnx/step.ts'
import { add, column, mul, neg } from '../../protocol/plugin/expression/expression.ts'
import { furthest, raggedGroups } from '../conformance/engine-cases.ts'
import { randomWeights, SPEC, WHOLE } from './model.ts'

const LOSSES = {
  'log-probs': neg(mul(column('logprob'), column('advantage'))),
  entropies: column('entropy'),
  divergences: add(mul(column('divergence'), column('advantage')), column('logprob')),
  both: add(neg(column('logprob')), mul(0.3, mul(column('entropy'), column('logprob')))),
}

async function inParts(spec: DecoderSpec, loss: keyof typeof LOSSES, head: number) {
  const sequences = raggedGroups(spec, 5)
  const [micro] = plan(sequences, { tokens: 4096 })
  const packed = pack(sequences, micro!)
  const runtime = createRuntime({ threads: 1, maxSessions: 2 })
  const { segment, prefix, segmentTokens } = micro!.shape
  const parts = { ...WHOLE, head }
  const rows = { head: 1 + segmentTokens, segments: segment, prefixes: prefix }
  const sizes = { ...micro!.shape, ...partSizes(rows, parts) }
  const objective = { loss: LOSSES[loss], metrics: { above: column('above'), ties: column('ties') } }
  const taught = loss === 'divergences' ? 3 : undefined
  const options = { accumulate: false, checkpointing: false, parts, taught }
  const score = await runtime.compile('score', () =>
    buildScore(spec, { parts, hidden: true, pit: true, top: 4 }),
  )
  const gradient = await runtime.compile('gradient', () =>
    buildGradient(spec, objective, ['advantage', 'mask'], options),
  )
  const feeds = { ...randomWeights(spec, 3), ...inputsOf(packed, 0.8) }
  const columns = {
    inverseDenominator: Float32Array.of(1),
    'column.mask': packed.mask,
    'column.advantage': packed.mask.map((_, i) => Math.sin(i)),
    ...(taught && packTeacher(sequences, packed, taught)),
  }
  const out = {
    scores: await score.run(feeds, sizes),
    gradients: await gradient.run({ ...feeds, ...columns }, sizes),
  }
  await runtime.close()
  return out
}

test.each([
  ['tied', 'log-probs', SPEC],
  ['tied', 'entropies', SPEC],
  ['tied', 'divergences', SPEC],
  ['untied', 'divergences', { ...SPEC, tiedEmbeddings: false }],
  ['soft-capped', 'divergences', { ...SPEC, logitSoftCap: 2 }],
  ['untied', 'both', { ...SPEC, tiedEmbeddings: false }],
  ['soft-capped', 'both', { ...SPEC, logitSoftCap: 2 }],
] as const)('parts give what one piece gives: %s, a loss of %s', async (_, loss, spec) => {
  const whole = await inParts(spec, loss, 1)
  const parts = await inParts(spec, loss, 5)
  for (const name of ['logprob', 'entropy', 'collision', 'above', 'ties', 'hidden', 'top'])
    expect(furthest(parts.scores[name]!, whole.scores[name]!), name).toBeLessThan(1e-5)
  expect(furthest(parts.gradients.sums!, whole.gradients.sums!)).toBeLessThan(1e-3)
  for (const name of trainableShapes(spec).keys()) {
    const [a, b] = [parts.gradients[`gradient.${name}`]!, whole.gradients[`gradient.${name}`]!]
    expect(furthest(a, b), name).toBeLessThan(1e-5 * Math.max(1, Math.hypot(...b)))
  }
})

const shapeOf = (rows: number, prefix: number, segment: number) => ({
  ...{ groups: 1, rows, prefix, segment },
  ...{ segmentTokens: rows * segment, prefixTokens: prefix },
})

test('only large arrays are cut: the logits of a large vocabulary, the scores of long sequences', () => {
  const [small, large] = [
    { vocabulary: 512, heads: 9 },
    { vocabulary: 151_936, heads: 14 },
  ]
  const partsOf = (...[shape, spec, options]: Parameters<typeof partsFor>) =>
    partsFor(shape, spec, options).parts
  expect(partsOf(shapeOf(16, 64, 64), small)).toEqual(WHOLE)
  expect(partsOf(shapeOf(32, 64, 64), large)).toEqual({ ...WHOLE, head: 8 })
  expect(partsOf(shapeOf(1, 64, 1024), small)).toEqual(WHOLE)
  expect(partsOf(shapeOf(1, 64, 2048), small)).toEqual({ ...WHOLE, segments: 8 })
  expect(partsOf(shapeOf(1, 2048, 64), small)).toEqual({ ...WHOLE, prefixes: 8 })
  expect(partsOf(shapeOf(1, 64, 2048), small, { isOnDevice: true })).toEqual({ ...WHOLE, segments: 2 })
  expect(partsOf(shapeOf(1, 64, 8192), small)).toEqual({ ...WHOLE, segments: 32 })
  expect(partsOf(shapeOf(32, 64, 64), large, { isShort: true }).head).toBe(32)
})

test('each part has rows', () => {
  for (const length of [1, 2, 3, 7, 100, 5000])
    for (const vocabulary of [23, 151_936, 2 ** 24]) {
      const { sizes } = partsFor(shapeOf(1, length, length), { vocabulary, heads: 2 ** 20 })
      for (const which of ['head', 'segments', 'prefixes'])
        expect(sizes[`${which}.part`]).toBeGreaterThanOrEqual(1)
    }
})
