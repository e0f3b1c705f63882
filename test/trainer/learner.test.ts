// What the learner does for plugins beside the update: estimators without one, groups without a signal that are kept all the
// same, and models of roles.

import { describe, expect, test } from 'vitest'
import type { Engine, GradientRequest, ScoreRequest, TrainRequest } from '../../daemon/engine/engine.ts'
import { randomStream } from '../../daemon/host/random.ts'
import type { LivePolicy } from '../../daemon/policy/live-policy.ts'
import { createLearner } from '../../daemon/trainer/learner.ts'
import type { Finding, LearnerOptions, LearnerSettings } from '../../daemon/trainer/learning/contract.ts'
import type { Role } from '../../daemon/trainer/roles.ts'
import { noPairs } from '../../daemon/trainer/sharing/interval.ts'
import { createJudge } from '../../daemon/trainer/sharing/judge.ts'
import { summarize } from '../../daemon/trainer/watch.ts'
import type { Plugin } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'
import { ADAMW } from '../engine/model.ts'
import { setUp as openHost, plugin } from '../host/setup.ts'
import { group } from './groups.ts'

async function setUp(
  given: readonly Plugin[],
  {
    estimator = 'grpo',
    trusts = false,
    sizes = { own: 2, foreign: 0 },
    minibatches = 1,
    aggregation,
    ...more
  }: { estimator?: string; trusts?: boolean } & Partial<
    LearnerOptions & Pick<LearnerSettings, 'sizes' | 'minibatches' | 'aggregation'>
  > = {},
) {
  const { plugins, troubles } = await openHost(given, { estimator: { use: estimator } })
  let version = 3
  let isStable = true
  let stepsLeft = Number.POSITIVE_INFINITY
  const trained: number[] = []
  const denominators: number[] = []
  const known: unknown[] = []
  const reportOf = (entropy: number) => ({
    ...{ loss: 0, gradientNorm: 1, metrics: { 'watch.entropy': entropy }, completionTokens: 10 },
    ...{ realTokens: 1, computedTokens: 1, microBatches: 1, seconds: 0 },
  })
  const trainer = {
    async train({ sequences, denominator }: TrainRequest) {
      if (stepsLeft-- === 0) throw new Error('the engine is gone')
      trained.push(sequences.length)
      denominators.push(denominator)
      return { ...reportOf(0.1), applied: true }
    },
    score: async ({ sequences }: ScoreRequest) =>
      sequences.map(({ completion }) => ({ logprobs: new Float32Array(completion.length) })),
    vectors: async () => [],
    async gradient({ sequences }: GradientRequest) {
      trained.push(sequences.length)
      known.push(sequences[0]!.columns.known)
      return reportOf(0.1)
    },
    combine: async () => {},
    dot: async () => 1,
    norm: async () => 1,
    step: async () => ({ applied: isStable, norm: 1, ...(!isStable && { nonFinite: 'x' }) }),
  } as unknown as Engine
  const policy = {
    trainer,
    spec: { contextLength: 64, vocabulary: 23 },
    reference: () => ({ lineage: 'a', tokenizer: 'b', version }),
    async advance(steps: number) {
      version += steps
    },
  } as unknown as LivePolicy
  const findings: Finding[] = []
  const learnt: number[] = []
  const writer = {
    name: 'writer',
    async learn(groups) {
      learnt.push(groups.length)
      return groups.length > 0 ? { texts: 2, loss: 0, gradientNorm: 1, reward: 0.5 } : undefined
    },
  } as Partial<Role> as Role
  const learner = createLearner(
    {
      settings: () => ({
        ...{ sizes, minibatches, optimizer: ADAMW, warmUpSteps: 0 },
        ...(aggregation && { aggregation }),
      }),
      ...{ temperature: 1, self: 'me', adaptive: false },
      ...more,
    },
    {
      policy,
      plugins,
      random: (stream) => randomStream(1, stream),
      cost: () => 1,
      isTrusted: () => trusts,
      onFinding: (finding) => findings.push(finding),
      roles: new Map([['writer', writer]]),
      restore: async () => undefined,
    },
  )
  const batch = (...rewards: number[][]) => ({
    groups: rewards.map((of, i) => group(of, { seed: i + 1 })),
    learnForeign: false,
    compare: false,
  })
  return {
    learner,
    batch,
    trained,
    known,
    denominators,
    learnt,
    troubles,
    findings,
    version: () => version,
    /** Whether steps can be taken from now on. */
    setStable(is: boolean) {
      isStable = is
    },
    /** The trainer fails after so many more steps. */
    failAfter(steps: number) {
      stepsLeft = steps
    },
  }
}

const text = {
  conditioning: Int32Array.of(1),
  tokens: Int32Array.of(2),
  logprobs: Float32Array.of(-1),
  reward: 1,
}
const writes = () =>
  plugin(
    'writes',
    'hint',
    { commit: () => ({ train: [{ role: 'writer', rollouts: [text, { ...text, reward: 0 }] }] }) },
    { roles: [{ name: 'writer', trainable: true }] },
  )

test('under an estimator without an update a step is counted, and nothing is trained', async () => {
  let committed = 0
  const counts = plugin('counts', 'skill', {
    commit({ step, groups }) {
      committed += 1
      expect([step, groups.length]).toEqual([4, 2])
      return undefined
    },
  })
  const { learner, batch, trained, version } = await setUp([counts], { estimator: 'none' })
  const report = await learner.train(batch([1, 1], [0, 1]))
  expect(report).toMatchObject({ step: 4, own: 2, loss: 0 })
  expect([trained, committed, version()]).toEqual([[], 1, 4])
})

test('a group that is longer than the model can read is dropped, and the batch is trained on without it', async () => {
  const { learner, batch, trained } = await setUp([])
  const chosen = batch([0, 1], [0, 1])
  chosen.groups[0] = { ...chosen.groups[0]!, conditioning: new Int32Array(64) }
  expect(await learner.train(chosen)).toMatchObject({ own: 1, dropped: 1 })
  expect(trained).toEqual([2])
})

test.each<[string, Partial<Rollout>, RegExp]>([
  ['an empty completion', { tokens: new Int32Array(), behaviourLogprobs: new Float32Array() }, /empty/],
  [
    'a token that the model does not have',
    { tokens: Int32Array.of(23), behaviourLogprobs: Float32Array.of(-1) },
    /token id 23 is outside/,
  ],
  [
    'fewer log-probs than tokens',
    { tokens: Int32Array.of(1, 2), behaviourLogprobs: Float32Array.of(-1) },
    /1 log/,
  ],
])("a peer's group with %s costs its author, not the batch and no plugin", async (_, fault, reason) => {
  const { learner, batch, trained, troubles, findings } = await setUp([
    plugin('passes', 'correction', { group: (groups) => groups }),
  ])
  const chosen = batch([0, 1])
  const theirs = group([0, 1], { author: 'mallory' })
  theirs.rollouts[1] = { ...theirs.rollouts[1]!, ...fault }
  chosen.groups.push(theirs)
  for (let i = 0; i < 4; i++)
    expect(await learner.train(chosen)).toMatchObject({ own: 1, foreign: 0, dropped: 1 })
  expect([trained, troubles]).toEqual([[2, 2, 2, 2], []])
  expect(findings[0]).toMatchObject({
    guard: 'untrainable',
    message: expect.stringMatching(reason),
    peers: ['mallory'],
  })
  expect(learner.state().setAside).toMatchObject([{ author: 'mallory', offences: 4 }])
})

test('what peers write is no reason to doubt the policy: the entropy that is watched is that of own rollouts', () => {
  const part = (entropy: number, author?: string) => ({
    ...{ loss: 0, metrics: { 'watch.entropy': entropy }, completionTokens: 10 },
    ...{ realTokens: 1, computedTokens: 1, seconds: 0, ...(author ? { author } : {}) },
  })
  expect(summarize([part(0.1), part(0.3), part(2, 'stranger')]).watched.entropy).toBeCloseTo(0.2)
})

test('groups without a signal are dropped, but for those that a plugin has advantages for', async () => {
  const { learner, batch, trained } = await setUp([])
  expect((await learner.train(batch([1, 1], [0, 1])))?.own).toBe(1)
  const { groups, ...rest } = batch([1, 1, 1], [0, 1])
  expect(
    (await learner.train({ ...rest, groups: groups.map((one) => ({ ...one, always: true })) }))?.own,
  ).toBe(2)
  expect(trained).toEqual([2, 5])
})

test('the steps of an update that fails make versions, because the weights have changed', async () => {
  const { learner, batch, failAfter, version } = await setUp([], { minibatches: 3 })
  failAfter(2)
  await expect(learner.train(batch([1, 0], [0, 1], [1, 0]))).rejects.toThrow('the engine is gone')
  expect(version()).toBe(5)
})

test('losses are aggregated as the node is told to', async () => {
  const { learner, batch, denominators } = await setUp([], {
    aggregation: { mode: 'fixed_length', length: 64 },
  })
  await learner.train(batch([0, 1], [0, 1, 1]))
  expect(denominators).toEqual([5 * 64])
})

test('roles learn after the update, and where there was nothing to train on', async () => {
  const { learner, batch, learnt, trained } = await setUp([writes()])
  const report = await learner.train(batch([0, 1], [1, 0]))
  expect(report?.pluginMetrics).toMatchObject({ 'writer.texts': 2, 'writer.reward': 0.5 })
  expect(await learner.train(batch([1, 1], [0, 0]))).toBeUndefined()
  await learner.commitBarrenRound()
  expect([learnt, trained]).toEqual([[1, 1, 1], [4]])
})

test('what an earlier run found out about peers is told and kept by one that meets none, and costs it no comparison', async () => {
  const sizes = { own: 1, foreign: 4 }
  const waiting = { own: [group([0, 1], { seed: 1 })], foreign: [] }
  const theirs = [group([0, 1], { seed: 2, author: 'peer' })]
  const { learner: earlier } = await setUp([], { sizes })
  expect([earlier.choose(waiting)?.compare, earlier.sharing()]).toEqual([false, undefined])
  expect(earlier.choose({ ...waiting, foreign: theirs })?.compare).toBe(true)
  const restored = earlier.state()
  const { learner } = await setUp([], { sizes, restored })
  expect(learner.choose(waiting)?.compare).toBe(false)
  expect(learner.sharing()).toEqual(earlier.sharing())
  expect(learner.state()).toEqual(restored)
  expect(learner.choose({ ...waiting, foreign: theirs })?.compare).toBe(true)
})

const theirs = (count: number, author = 'peer') =>
  Array.from({ length: count }, () => group([0, 1], { author }))

test('newcomers make no batch due, so that no step is made of their groups alone', async () => {
  const { learner } = await setUp([], { sizes: { own: 4, foreign: 8 } })
  expect(learner.choose({ own: [group([0, 1])], foreign: theirs(40) })).toBeUndefined()
  expect(learner.choose({ own: [], foreign: theirs(40) })).toBeUndefined()
  expect(
    learner.choose({ own: [group([0, 1])].concat(theirs(3, 'me')), foreign: theirs(40) })?.groups,
  ).toHaveLength(12)
})

test('the log-probs of a guide are used only if the user vouches for it', async () => {
  const guide = {
    ...{ author: 'peer', typicality: { bets: [18], claims: 0, likeness: 'mismatched' as const } },
    ...{ pairs: noPairs(), norm: 1, offences: 0 },
  }
  const judge = createJudge({ settings: () => ({ limit: 8 }), adaptive: false }).save()
  for (const trusts of [false, true]) {
    const { learner, known } = await setUp([], {
      ...{ sizes: { own: 1, foreign: 1 }, trusts },
      restored: { setAside: [], evidence: { judge, calibration: [], authors: [guide] } },
    })
    const [mine] = [group([0, 1])]
    learner.ownGroup(mine)
    await learner.train({ groups: [mine, ...theirs(1)], learnForeign: true, compare: true })
    expect(known).toEqual([1, trusts ? 1 : 0])
  }
})

/** One of peers whose groups made progress. */
async function setUpAmongPeers() {
  const known = {
    ...{ author: 'peer', typicality: { bets: [], claims: 0, likeness: 'matched' as const } },
    ...{ pairs: { count: 50, x: 50, y: 50, xx: 51, xy: 50, yy: 51 }, norm: 1, offences: 0 },
  }
  const evidence = {
    judge: createJudge({ settings: () => ({ limit: 8 }), adaptive: false }).save(),
    peers: { foreign: 50, own: 50 },
    calibration: [],
    authors: [known],
  }
  const parts = await setUp([], {
    ...{ sizes: { own: 4, foreign: 8 }, rule: 'common-batch' as const },
    restored: { setAside: [], evidence },
  })
  const train = async (waiting: { own: Group[]; foreign: Group[] }) => {
    const batch = parts.learner.choose(waiting)
    return batch && (await parts.learner.train(batch))
  }
  return { ...parts, train }
}

test('peers whose groups made progress make a batch due, four times in a row without an own group', async () => {
  const { learner, trained, train } = await setUpAmongPeers()
  const own = () => [group([0, 1])]
  expect(learner.choose({ own: own(), foreign: theirs(2) })).toBeUndefined()
  learner.ownGroup(own()[0]!)
  expect(learner.choose({ own: [], foreign: theirs(8) })).toBeUndefined()
  expect(await train({ own: own(), foreign: theirs(5) })).toMatchObject({ own: 1, foreign: 5 })
  const alone: (object | undefined)[] = []
  for (let i = 0; i < 6; i++) alone.push(await train({ own: [], foreign: theirs(5) }))
  expect(alone.map((step) => step !== undefined)).toEqual([true, true, true, true, false, false])
  expect(await train({ own: own(), foreign: theirs(5) })).toMatchObject({ own: 1, foreign: 5 })
  expect(await train({ own: [], foreign: theirs(5) })).toMatchObject({ own: 0, foreign: 5 })
  expect(trained).toEqual([2, 10, ...Array(4).fill(10), 2, 10, 10])
})

test('an own group in an update that was not taken does not permit more updates without one', async () => {
  const { learner, train, setStable } = await setUpAmongPeers()
  const own = [group([0, 1])]
  learner.ownGroup(own[0]!)
  const alone = async () => (await train({ own: [], foreign: theirs(5) })) !== undefined
  expect(await train({ own, foreign: theirs(5) })).toMatchObject({ steps: 1 })
  expect([await alone(), await alone(), await alone()]).toEqual([true, true, true])
  setStable(false)
  expect(await train({ own, foreign: theirs(5) })).toMatchObject({ own: 1, steps: 0 })
  setStable(true)
  expect([await alone(), await alone()]).toEqual([true, false])
})

describe('a peer counts as trained on', () => {
  const authorsOf = async (batch: { groups: Group[]; learnForeign: boolean }, isStable = true) => {
    const { learner, setStable } = await setUp([], { sizes: { own: 1, foreign: 2 } })
    setStable(isStable)
    return (await learner.train({ ...batch, compare: true }))?.authors
  }
  const groups = [group([0, 1]), ...theirs(2)]

  test('for each of its groups whose gradient is in the weights', async () => {
    expect(await authorsOf({ groups, learnForeign: true })).toEqual({ peer: 2 })
  })

  test('not for groups that were only measured', async () => {
    expect(await authorsOf({ groups, learnForeign: false })).toEqual({})
  })

  test('not for groups of a step that was not taken', async () => {
    expect(await authorsOf({ groups, learnForeign: true }, false)).toEqual({})
  })

  test('for an own group in which its rollout is borrowed', async () => {
    const lent = group([0, 1])
    lent.rollouts[1] = { ...lent.rollouts[1]!, author: 'peer' }
    expect(await authorsOf({ groups: [lent], learnForeign: true })).toEqual({ peer: 1 })
  })
})
