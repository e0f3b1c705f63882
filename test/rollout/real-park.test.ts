// Parking on the real engine and the default model: what goes on later is what it would have been.

import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadModel } from '../../daemon/policy/model.ts'
import { createParkedGroups } from '../../daemon/rollout/parked/parked.ts'
import { playRound } from '../../daemon/rollout/round.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { Hooks } from '../../protocol/plugin/index.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { writeGroups } from '../../scripts/lab/nodes/write-groups.ts'
import { sums } from './answers.ts'
import { parkedIn, play, plugin } from './play.ts'

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))

test('a rollout of the default model that was parked goes on to the same tokens, each with its log-prob and version', async () => {
  const model = await loadModel(DEFAULT, { disk })
  const { tokenizer } = model
  const engine = createLocalEngine({ threads: 1 })
  await engine.open({ ...model, version: 7 })
  const tasks = createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 0 }])
  const flow: Hooks = {
    steer: (live, { version }) =>
      new Map(version > 7 ? [] : live.filter(({ tokens }) => tokens >= 4).map(({ id }) => [id, 'park'])),
  }
  const { host } = await play({
    write: () => '',
    plugins: [
      plugin('sums', 'selector', sums(), { claims: ['picker'] }),
      plugin('flow', 'control', flow, { claims: ['flow'], needs: ['park'] }),
    ],
    host: { selector: { use: 'sums' }, controls: [{ use: 'flow' }] },
  })
  const parked = createParkedGroups()
  let seed = 0
  const round = (version: number) =>
    playRound(
      {
        view: { tasks: tasks.view, rollouts: 4 },
        want: 2,
        policy: { lineage: model.digest, tokenizer: tokenizer.digest, version },
        maxNewTokens: 48,
        context: model.spec.contextLength,
        vocabulary: model.spec.vocabulary,
        temperature: 1,
        maxStaleness: 8,
        author: 'me',
        sampleSeed: () => seed++,
        now: () => 0,
      },
      { sampler: engine, tokenizer, tasks, hooks: host.round({ step: version }), parked },
    )
  expect((await round(7)).groups).toEqual([])
  const before = parkedIn(parked)
  await engine.setWeights(model.weights, 8)
  const { groups } = await round(8)
  const whole = await writeGroups(
    {
      asks: groups.map(({ prompt }) => ({ prompt, rollouts: 4 })),
      policy: { lineage: model.digest, tokenizer: tokenizer.digest, version: 8 },
      maxNewTokens: 48,
      temperature: 1,
      author: 'me',
      sampleSeed: (index) => index,
      now: () => 0,
    },
    { sampler: engine, tokenizer, tasks },
  )
  const rollouts = groups.flatMap((group) => group.rollouts)
  const [expected, written] = [
    whole.groups.flatMap((group) => group.rollouts),
    before.flatMap((g) => g.sequences),
  ]
  const conditionings = groups.flatMap((group) => group.rollouts.map(() => group.conditioning))
  const scores = await engine.score({
    sequences: rollouts.map(({ tokens }, i) => ({ conditioning: conditionings[i]!, completion: tokens })),
    temperature: 1,
  })
  const far = (a: Float32Array, b: Float32Array): number => Math.max(...a.map((x, i) => Math.abs(x - b[i]!)))
  rollouts.forEach(({ tokens, behaviourLogprobs, segments, reward, text }, i) => {
    const { length } = written[i]!.tokens
    expect([...tokens.subarray(0, length)]).toEqual(written[i]!.tokens)
    expect(segments[0]).toEqual({ version: 7, start: 0, length })
    if (tokens.length > length)
      expect(segments[1]).toEqual({ version: 8, start: length, length: tokens.length - length })
    expect({ tokens, reward, text }).toEqual({
      tokens: expected[i]!.tokens,
      reward: expected[i]!.reward,
      text: expected[i]!.text,
    })
    expect(far(behaviourLogprobs!, scores[i]!.logprobs)).toBeLessThan(1e-4)
    expect(far(behaviourLogprobs!, expected[i]!.behaviourLogprobs!)).toBeLessThan(1e-4)
  })
  expect(rollouts.filter(({ segments }) => segments.length === 2).length).toBeGreaterThan(4)
  await engine.close()
})
