// Borrowed rollouts in own groups: part of the own gradient, within a bound, and nobody's own figures.

import { expect, test } from 'vitest'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { assembleObjective } from '../../daemon/host/objective.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { rowsByAuthor } from '../../daemon/trainer/rows.ts'
import { update } from '../../daemon/trainer/update.ts'
import clip from '../../plugins/corrections/losses/clip.ts'
import tis from '../../plugins/corrections/tis.ts'
import { column, mul, neg } from '../../protocol/plugin/expression/expression.ts'
import { withSettings } from '../../protocol/plugin/testing/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { randomWeights, SPEC } from '../engine/model.ts'
import { group } from './groups.ts'
import { UPDATE } from './update-options.ts'

// As it masks what has no log-probs: a borrowed rollout must not be subject to it.
const objective = assembleObjective([
  { name: 'clip', correction: withSettings(clip).correct!() },
  { name: 'tis', correction: withSettings(tis).correct!() },
  {
    name: 'lender',
    correction: {
      columns: { borrowed: 0 },
      instead: { where: column('lender.borrowed'), loss: neg(mul(column('advantage'), column('logprob'))) },
    },
  },
])

/** An own group whose last rollout is a peer's. */
function lent(seed: number): Group {
  const made = group([0, 0, 0, 1], { seed })
  return {
    ...made,
    rollouts: made.rollouts.map(({ behaviourLogprobs, ...rollout }, i) =>
      i === 3 ? { ...rollout, author: 'peer' } : { ...rollout, behaviourLogprobs: behaviourLogprobs! },
    ),
  }
}
const borrowed = [[0, 0, 0, 1]]

async function step(groups: Group[], advantages: number[][]) {
  const core = createCore({ threads: 1, now: () => 0 })
  await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1, 0.3) })
  const columns = { 'lender.borrowed': borrowed }
  const report = await update(
    groups,
    advantages,
    { ...UPDATE, columns },
    { engine: core as unknown as Engine, objective, random: randomStream(1, 'test') },
  )
  return { report, weights: core.weights() as Weights }
}

test('a borrowed rollout is a row of the own part, foreign and of unknown sampler', () => {
  const { own, foreign } = rowsByAuthor([lent(1)], [[-0.5, -0.5, -0.5, 1.5]], UPDATE)
  expect(foreign).toEqual([])
  expect(own[0]!.map((row) => [row.borrowed, row.columns.foreign, row.columns.known])).toEqual([
    [undefined, 0, 1],
    [undefined, 0, 1],
    [undefined, 0, 1],
    ['peer', 1, 0],
  ])
})

test('it changes the step, and the report stays that of the own rows', async () => {
  const [with_, without] = [
    await step([lent(1)], [[-0.5, -0.5, -0.5, 1.5]]),
    await step([lent(1)], [[-0.5, -0.5, -0.5, 0]]),
  ]
  expect(with_.weights).not.toEqual(without.weights)
  expect(with_.report.parts.map(({ author }) => author)).toEqual([undefined])
  expect(with_.report.watched.entropy).toBeCloseTo(without.report.watched.entropy!)
  expect(with_.report.watched.foreignShare).toBe(0)
})

test('its gradient is at most as long as the own one, whatever its advantage', async () => {
  const own = (await step([lent(1)], [[-0.5, -0.5, -0.5, 0]])).report.gradientNorm
  const huge = (await step([lent(1)], [[-0.5, -0.5, -0.5, 10]])).report.gradientNorm
  expect(huge).toBeLessThanOrEqual(2 * own * 1.0001)
})
