// What an environment wrote says nothing about the policy: with its tokens in between, advantages are the same.

import { expect, it } from 'vitest'
import opo from '../../../plugins/estimators/baselines/opo.ts'
import plus from '../../../plugins/estimators/batch/reinforce-plus-plus.ts'
import plusBaseline from '../../../plugins/estimators/batch/reinforce-plus-plus-baseline.ts'
import gae from '../../../plugins/estimators/critic/gae.ts'
import vTrace from '../../../plugins/estimators/critic/v-trace.ts'
import gdpo from '../../../plugins/estimators/normalised/gdpo.ts'
import canon from '../../../plugins/estimators/shaped/canon.ts'
import gtpo from '../../../plugins/estimators/tokens/gtpo.ts'
import { entropiesOf } from '../../../plugins/replay/ranking.ts'
import { diceFor } from '../../../plugins/tasks/random.ts'
import type { Rollout } from '../../../protocol/train/index.ts'
import { contextOf, estimate, groupOf, rolloutOf, withSettings } from '../samples.ts'

const dice = diceFor('episodes')
const plain = [1, 0, 0, 0].map((reward, i) => {
  const length = 1 + i
  const numbers = (scale: number) => Float32Array.from({ length }, () => (scale * dice.below(1000)) / 1000)
  return rolloutOf(reward, length, {
    tokens: Int32Array.from({ length }, (_, t) => 100 * i + t),
    entropies: numbers(0.5),
    behaviourLogprobs: numbers(-1),
  })
})
const SHOWN = 3

/** As if an environment had answered the first token. */
function answered(rollout: Rollout, i: number): Rollout {
  const spread = (values: Float32Array) =>
    Float32Array.from([values[0]!, ...Array<number>(SHOWN * (3 - i)).fill(0), ...values.subarray(1)])
  const tokens = [...rollout.tokens]
  const shown = Array.from({ length: SHOWN * (3 - i) }, (_, t) => 1000 * (i + 1) + t)
  return {
    ...rollout,
    tokens: Int32Array.from([tokens[0]!, ...shown, ...tokens.slice(1)]),
    entropies: spread(rollout.entropies!),
    behaviourLogprobs: spread(rollout.behaviourLogprobs!),
    lossMask: Uint8Array.from([1, ...shown.map(() => 0), ...tokens.slice(1).map(() => 1)]),
  }
}
const played = plain.map(answered)
const written = (row: Array<number | number[]>) =>
  row.map((value, i) =>
    typeof value === 'number' ? value : value.filter((_, t) => played[i]!.lossMask![t] !== 0),
  )

it.each([
  ['reinforce_plus_plus', withSettings(plus)],
  ['reinforce_plus_plus_baseline', withSettings(plusBaseline)],
  ['gdpo', withSettings(gdpo, { batch: 'tokens' })],
  ['opo', withSettings(opo)],
  ['canon by entropy', withSettings(canon, { beta: 0.5 })],
  ['canon by length', withSettings(canon, { metric: 'length', beta: 0.5 })],
  ['gtpo', withSettings(gtpo)],
  ['gae', withSettings(gae)],
  ['v_trace', withSettings(vTrace)],
  ['v_trace without a head', withSettings(vTrace, { critic: 'group_mean' })],
])('%s', async (_, hooks) => {
  const [before] = await estimate(hooks, [groupOf(plain)])
  const [after] = await estimate(hooks, [groupOf(played)])
  expect(written(after!)).toEqual(before)
})

it('ranking', async () => {
  expect(await entropiesOf(groupOf(played), contextOf())).toEqual(
    await entropiesOf(groupOf(plain), contextOf()),
  )
})
