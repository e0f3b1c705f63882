import { expect, test } from 'vitest'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { assembleObjective } from '../../daemon/host/objective.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { AGGREGATIONS, type Aggregation, denominatorOf, rowWeight } from '../../daemon/trainer/aggregation.ts'
import type { Row } from '../../daemon/trainer/rows.ts'
import { update } from '../../daemon/trainer/update.ts'
import clip from '../../plugins/corrections/losses/clip.ts'
import type { Correction } from '../../protocol/plugin/index.ts'
import { randomWeights, SPEC } from '../engine/model.ts'
import { group } from './groups.ts'
import { UPDATE } from './update-options.ts'

const settings = { low: 0.2, high: 0.28, dual: 3, anchor: 'proximal' as const }
const objective = assembleObjective([
  { name: 'clip', correction: clip.create(settings).correct!() as Correction },
])

/** Two answers, of which the second has five tokens and the first two that are the policy's own. */
function uneven() {
  const one = group([1, 0], { seed: 1 })
  const [first, second] = one.rollouts
  return {
    ...one,
    rollouts: [
      {
        ...first!,
        tokens: Int32Array.of(3, 4, 5),
        behaviourLogprobs: Float32Array.of(-1, -1, -1),
        lossMask: Uint8Array.of(1, 0, 1),
      },
      { ...second!, tokens: Int32Array.of(3, 4, 5, 6, 7), behaviourLogprobs: new Float32Array(5).fill(-1) },
    ].map((rollout) => ({
      ...rollout,
      segments: [{ start: 0, length: rollout.tokens.length, version: 3 }],
    })),
  }
}

async function run(aggregation: Aggregation | undefined, advantages: (number | Float32Array)[]) {
  const core = createCore({ threads: 1, now: () => 0 })
  await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1, 0.3) })
  const report = await update(
    [uneven()],
    [advantages],
    { ...UPDATE, ...(aggregation && { aggregation }) },
    { engine: core as unknown as Engine, objective, random: randomStream(1, 'test') },
  )
  const weights = await core.weights()
  await core.close()
  return { report, weights }
}

// At a ratio of 1 a token's loss is minus its advantage: 2 tokens of -1 and 5 tokens of 0.4.
test.each([
  ['token_mean', (2 * -1 + 5 * 0.4) / 7],
  ['sequence_mean', (-1 + 0.4) / 2],
  ['sequence_sum', (2 * -1 + 5 * 0.4) / 2],
  ['fixed_length', (2 * -1 + 5 * 0.4) / (2 * 64)],
] as const)('%s of two answers of unequal length', async (mode, loss) => {
  const { report } = await run({ mode, length: 64 }, [1, -0.4])
  expect(report.loss).toBeCloseTo(loss, 6)
})

test('the mean of means is the mean over tokens with advantages over lengths', async () => {
  const { weights, report } = await run({ mode: 'sequence_mean', length: 64 }, [1, -0.4])
  const same = await run(undefined, [(1 * 7) / (2 * 2), (-0.4 * 7) / (5 * 2)])
  expect(report.gradientNorm).toBeCloseTo(same.report.gradientNorm, 4)
  for (const [name, values] of Object.entries(weights))
    values.forEach((value, i) => {
      expect(value).toBeCloseTo(same.weights[name]![i]!, 4)
    })
})

test('denominators add up over rows, and rows without a token of their own count nowhere', () => {
  const row = (length: number, mask?: number[]): Row => ({
    conditioning: Int32Array.of(1),
    completion: new Int32Array(length),
    columns: mask ? { mask: Float32Array.from(mask) } : {},
  })
  const rows = [row(4), row(3, [0, 1, 0]), row(2, [0, 0])]
  for (const mode of AGGREGATIONS) {
    const of = (some: Row[]): number => denominatorOf({ mode, length: 10 }, some)
    expect(of(rows)).toBe(of(rows.slice(0, 1)) + of(rows.slice(1)))
  }
  expect(rows.map((one) => rowWeight({ mode: 'sequence_mean', length: 10 }, one))).toEqual([1 / 4, 1, 1])
  expect(denominatorOf({ mode: 'sequence_mean', length: 10 }, rows)).toBe(2)
  expect(denominatorOf({ mode: 'fixed_length', length: 10 }, rows)).toBe(20)
})
