// One round, hook by hook: what plugins may do, what is refused, and what a failure costs.

import { expect, test } from 'vitest'
import { BudgetError, type Context, type Hooks, type Request } from '../../protocol/plugin/index.ts'
import { groupOf } from '../plugins/samples.ts'
import { at, composeView, heldOut, keyOf, plugin, SELECT_VIEW, setUp, VIEW } from './setup.ts'

const hint = (hooks: Hooks, manifest = {}) => plugin('hint', 'hint', hooks, manifest)
const request = (id: string, more: Partial<Request> = {}): Request => ({
  id,
  prompt: at(1),
  rollouts: 4,
  keep: 'train',
  ...more,
})
const nothingLanded = { groups: [], landed: new Map() }

test('rewrites nest, the first plugin outermost, and one record tells of all', async () => {
  const outer = plugin('outer', 'hint', {
    compose: () => ({ before: 'A ', after: ' Z', arm: 'hint', tainted: false, level: 2, items: ['h'] }),
  })
  const inner = plugin('inner', 'skill', {
    compose: () => ({ before: 'B ', after: ' Y', arm: 'skill', tainted: false, items: ['s'] }),
  })
  const { plugins } = await setUp([outer, inner])
  expect(await plugins.round({ step: 0 }).compose(composeView(at(1)))).toEqual({
    before: 'A B ',
    after: ' Y Z',
    arm: 'hint+skill',
    tainted: false,
    origin: { plugin: 'hint/outer', level: 2, items: ['h', 's'] },
  })
})

test('tainted text that gives the answer away is refused and told, and is no strike', async () => {
  const prompt = at(1)
  const { plugins, troubles } = await setUp([
    hint(
      {
        compose: () => ({ before: `The answer is ${keyOf(prompt)}. `, arm: 'hint', tainted: true }),
        extend: () => [
          request('leaks', { rewrite: { after: ` = ${keyOf(prompt)}`, arm: 'hint', tainted: true } }),
          request('does not', { rewrite: { after: ' Add slowly.', arm: 'hint', tainted: true } }),
        ],
      },
      { budget: () => ({ tokens: 1000 }) },
    ),
  ])
  const round = plugins.round({ step: 0 })
  expect(await round.compose(composeView(prompt))).toBeUndefined()
  const work = await round.extend(nothingLanded, VIEW)
  expect(work.map(({ request: { id }, rewrite }) => [id, rewrite?.tainted])).toEqual([['does not', true]])
  expect(troubles.map(({ refused, message }) => [refused, message])).toEqual([
    [true, 'a rewrite was refused: it gives the answer away'],
    [true, 'a rewrite was refused: it gives the answer away'],
  ])
  expect(plugins.status().find(({ name }) => name === 'hint')).toMatchObject({ state: 'ok', strikes: 0 })
})

test('a correction changes no groups of a round, unless it has teachers', async () => {
  const always = (hooks: Hooks) =>
    plugin('one', 'correction', {
      group: (groups) => groups.map((one) => ({ ...one, always: true })),
      ...hooks,
    })
  const kept = async (hooks: Hooks): Promise<boolean | undefined> => {
    const { plugins } = await setUp([always(hooks)])
    return (await plugins.round({ step: 0 }).group([groupOf([0, 0])], VIEW))[0]!.always
  }
  expect(await kept({})).toBeUndefined()
  expect(await kept({ teach: (groups) => groups.map(({ rollouts }) => rollouts.map(() => undefined)) })).toBe(
    true,
  )
})

test('a plugin that has seen a prompt’s reference solution always writes tainted text for it', async () => {
  const { plugins } = await setUp([
    hint(
      {
        compose({ prompt }, context) {
          if (prompt.seed === 1) context.privileged(prompt)
          return { before: 'Try. ', arm: 'hint', tainted: false }
        },
      },
      { needs: ['privileged'] },
    ),
  ])
  const round = plugins.round({ step: 0 })
  expect((await round.compose(composeView(at(1))))?.tainted).toBe(true)
  expect((await round.compose(composeView(at(2))))?.tainted).toBe(false)
})

test('reference solutions are for plugins that ask for them in their manifest, and never for held-out prompts', async () => {
  const seen: unknown[] = []
  const look = (name: string, manifest = {}) =>
    plugin(
      name,
      'hint',
      {
        observe(_, context) {
          seen.push(context.privileged(at(1))?.key, context.privileged(heldOut))
          expect(() => context.verify(heldOut, '1')).toThrow(/held-out/)
        },
      },
      manifest,
    )
  const { plugins } = await setUp([look('asks', { needs: ['privileged'] }), look('does-not')])
  await plugins.round({ step: 0 }).observe([])
  expect(seen).toEqual([keyOf(at(1)), null, undefined, null])
})

test('a budget holds to the token, and who catches the error goes on', async () => {
  const caught: unknown[] = []
  const { plugins, troubles } = await setUp([
    hint(
      {
        async observe(_, context: Context) {
          const texts = await context.generate([{ prompt: 'p', n: 2, maxNewTokens: 10 }])
          expect(texts[0]).toHaveLength(2)
          for (let i = 0; i < 2; i++)
            await context
              .generate([{ prompt: 'p', n: 2, maxNewTokens: 10 }])
              .catch((error) => caught.push(error))
        },
      },
      { budget: () => ({ tokens: 25 }) },
    ),
  ])
  const round = plugins.round({ step: 0 })
  await round.observe([])
  expect(caught.map((error) => error instanceof BudgetError)).toEqual([true, true])
  expect(round.tokensLeft('hint/hint')).toBe(0)
  expect(troubles).toEqual([])
  expect(plugins.round({ step: 1 }).tokensLeft('hint/hint')).toBe(25)
})

test('work counts against the same budget, and none is handed out beyond it', async () => {
  const { plugins } = await setUp([
    hint({ extend: ({ asked }) => [request(`r${asked}`)] }, { budget: () => ({ tokens: 30 }) }),
  ])
  const round = plugins.round({ step: 0 })
  expect(await round.extend(nothingLanded, VIEW)).toHaveLength(1)
  expect(round.spend('hint/hint', 20)).toBe(true)
  expect(await round.extend(nothingLanded, VIEW)).toHaveLength(1)
  expect(round.spend('hint/hint', 20)).toBe(false)
  expect(await round.extend(nothingLanded, VIEW)).toEqual([])
})

test('a plugin without a budget has no text written and no work done', async () => {
  const { plugins, troubles } = await setUp([
    hint({
      extend: () => [request('r')],
      async reward(_, context) {
        await context.generate([{ prompt: 'p', n: 1 }])
        return undefined
      },
    }),
  ])
  const round = plugins.round({ step: 0 })
  expect(await round.extend(nothingLanded, VIEW)).toEqual([])
  await round.reward(groupOf([1, 0]))
  expect(troubles[0]?.message).toMatch(/^BudgetError: it has used up its budget of 0 tokens/)
})

test('time that a hook waits for the engine does not count against it', async () => {
  const slow = hint(
    {
      async observe(_, context) {
        for (let i = 0; i < 3; i++) await context.generate([{ prompt: 'p', n: 1 }])
      },
    },
    { budget: () => ({ tokens: 100, hookMs: 50 }) },
  )
  const { plugins, troubles } = await setUp([slow], {}, 40)
  await plugins.round({ step: 0 }).observe([])
  expect(troubles).toEqual([])
})

test('a hook that hangs is left behind, and cannot reach the world any more', async () => {
  let late: Promise<unknown> | undefined
  let resume = (): void => {}
  const hangs = hint(
    {
      observe(_, context) {
        late = new Promise<void>((resolve) => {
          resume = resolve
        }).then(() => context.generate([{ prompt: 'p', n: 1 }]))
        return late as Promise<void>
      },
    },
    { budget: () => ({ tokens: 100 }) },
  )
  const { plugins, troubles } = await setUp([hangs])
  await plugins.round({ step: 0 }).observe([])
  expect(troubles[0]?.message).toBe('took longer than 10000 ms')
  resume()
  await expect(late).rejects.toThrow(/the hook is over/)
})

test('who fails is out of the round with its requests, in the next one again, and off after three', async () => {
  const { plugins, troubles } = await setUp([
    hint(
      {
        extend: () => [request('mine')],
        compose: () => ({ before: 'x', arm: 'hint', tainted: false }),
        observe() {
          throw new Error('broken')
        },
      },
      { budget: () => ({ tokens: 1000 }) },
    ),
  ])
  const asked = groupOf([1, 0], { prompt: at(1), origin: { plugin: 'hint/hint', request: 'mine' } })
  const composed = groupOf([1, 0], { prompt: at(2), arm: 'hint', origin: { plugin: 'hint/hint' } })
  for (const switchedOff of [false, false, true]) {
    const round = plugins.round({ step: 0 })
    expect(await round.extend(nothingLanded, VIEW)).toHaveLength(1)
    expect(await round.group([asked, composed], VIEW)).toEqual([asked, composed])
    await round.observe([])
    expect(round.isOut('hint/hint')).toBe(true)
    expect(await round.compose(composeView(at(1)))).toBeUndefined()
    expect(await round.group([asked, composed], VIEW)).toEqual([composed])
    expect(troubles.at(-1)).toMatchObject({ hook: 'observe', message: 'broken', switchedOff })
  }
  expect(await plugins.round({ step: 0 }).extend(nothingLanded, VIEW)).toEqual([])
  expect(plugins.status().find(({ name }) => name === 'hint')).toMatchObject({ state: 'off', strikes: 3 })
})

const WRONG: [
  string,
  Hooks,
  (round: ReturnType<Awaited<ReturnType<typeof setUp>>['plugins']['round']>) => unknown,
  RegExp,
][] = [
  [
    'weights of another length',
    { weigh: () => [1] },
    (r) => r.select({ ...SELECT_VIEW, candidates: [at(1), at(2)] }, 1),
    /1 weights for 2/,
  ],
  [
    'a negative weight',
    { weigh: () => [-1, 1] },
    (r) => r.select({ ...SELECT_VIEW, candidates: [at(1), at(2)] }, 1),
    /weight of -1/,
  ],
  [
    'a weight that is no number',
    { weigh: () => [Number.NaN, 1] },
    (r) => r.select({ ...SELECT_VIEW, candidates: [at(1), at(2)] }, 1),
    /weight of NaN/,
  ],
  [
    'an arm called base',
    { compose: () => ({ before: 'x', arm: 'base', tainted: false }) },
    (r) => r.compose(composeView(at(1))),
    /"base"/,
  ],
  [
    'a rewrite that does not say whether it is tainted',
    { compose: () => ({ before: 'x', arm: 'hint' }) as never },
    (r) => r.compose(composeView(at(1))),
    /tainted/,
  ],
  ['rewards of another length', { reward: () => [1] }, (r) => r.reward(groupOf([1, 0])), /1 rewards for 2/],
  [
    'a rewrite that is only a text',
    { compose: (() => 'Take your time.') as never },
    (r) => r.compose(composeView(at(1))),
    /gave a string as its rewrite; it has to be \{ before/,
  ],
  [
    'no list of rewards',
    { reward: (() => null) as never },
    (r) => r.reward(groupOf([1, 0])),
    /list of rewards/,
  ],
  [
    'a reward that is no number',
    { reward: () => [Number.NaN, 1] },
    (r) => r.reward(groupOf([1, 0])),
    /not finite/,
  ],
  [
    'a request for a held-out prompt',
    { extend: () => [request('r', { prompt: heldOut })] },
    (r) => r.extend(nothingLanded, VIEW),
    /held-out/,
  ],
  [
    'two requests of one id',
    { extend: () => [request('r'), request('r')] },
    (r) => r.extend(nothingLanded, VIEW),
    /"r"/,
  ],
  [
    'no list of groups',
    { group: () => undefined as never },
    (r) => r.group([groupOf([1])], VIEW),
    /did not return a list/,
  ],
  [
    'a group of a held-out prompt',
    { group: () => [groupOf([1, 0], { prompt: heldOut })] },
    (r) => r.group([], VIEW),
    /held-out/,
  ],
  [
    'a group without rollouts',
    { group: () => [groupOf([])] },
    (r) => r.group([groupOf([1])], VIEW),
    /without rollouts/,
  ],
  [
    'a word that steers nowhere',
    { steer: () => new Map([['a', 'up' as 'cut']]) },
    (r) => r.steer([], { version: 0, asks: [], want: 1 }),
    /"up"/,
  ],
  [
    'too much over-sampling',
    { oversample: () => 1000 },
    async (r) => r.oversample(4),
    /over-sampled 4 groups to 1000/,
  ],
]

test.each(WRONG)(
  'a plugin that gives %s has failed, and the round goes on without it',
  async (_, hooks, run, message) => {
    const { plugins, troubles } = await setUp([hint(hooks, { budget: () => ({ tokens: 1000 }) })])
    await run(plugins.round({ step: 0 }))
    await null
    expect(troubles).toEqual([expect.objectContaining({ message: expect.stringMatching(message) })])
  },
)

test('weights of several plugins multiply, and weights that leave nothing say nothing', async () => {
  let seen: ArrayLike<number> | undefined
  const picks = plugin('picks', 'selector', {
    select({ weights, candidates }) {
      seen = weights
      return [{ prompt: candidates![0]!, rollouts: 2 }]
    },
  })
  const weigh = (name: string, values: number[]) => plugin(name, 'control', { weigh: () => values })
  const view = { ...SELECT_VIEW, candidates: [at(1), at(2)] }
  const both = await setUp([picks, weigh('a', [2, 3]), weigh('b', [0, 5])], { selector: { use: 'picks' } })
  await both.plugins.round({ step: 0 }).select(view, 1)
  expect(Array.from(seen!)).toEqual([0, 15])
  const none = await setUp([picks, weigh('a', [0, 0])], { selector: { use: 'picks' } })
  await none.plugins.round({ step: 0 }).select(view, 1)
  expect(seen).toBeUndefined()
})

test('a picker that fails is stood in for by the default one, and after three times for good', async () => {
  let asked = 0
  const picks = plugin('picks', 'selector', {
    select() {
      asked += 1
      return [{ prompt: heldOut, rollouts: 2 }]
    },
  })
  const { plugins, troubles } = await setUp([picks], { selector: { use: 'picks' } })
  for (let round = 0; round < 5; round++)
    expect(await plugins.round({ step: round }).select(SELECT_VIEW, 2)).toHaveLength(2)
  expect(asked).toBe(3)
  expect(troubles.map(({ switchedOff }) => switchedOff)).toEqual([false, false, true])
})

test('a picker that asks for a difficulty that a task does not have is stood in for, and the round goes on', async () => {
  const picks = plugin('picks', 'selector', {
    select: () => [{ prompt: { ...at(1), difficulty: 7 }, rollouts: 2 }],
  })
  const { plugins, troubles } = await setUp([picks], { selector: { use: 'picks' } })
  expect(await plugins.round({ step: 0 }).select(SELECT_VIEW, 2)).toHaveLength(2)
  expect(troubles[0]?.message).toMatch(/difficulty 7/)
})

test('a changed reward keeps the verdict of the verifier beside it', async () => {
  const { plugins } = await setUp([
    hint({ reward: ({ rollouts }) => rollouts.map(({ reward }, i) => reward + i) }),
    plugin('again', 'hint', { reward: ({ rollouts }) => rollouts.map(({ reward }) => 2 * reward) }),
  ])
  const group = await plugins.round({ step: 0 }).reward(groupOf([0, 1]))
  expect(group.rollouts.map(({ reward, taskReward }) => [reward, taskReward])).toEqual([
    [0, undefined],
    [4, 1],
  ])
})

test('taint sticks to rollouts, whatever groups are made of them', async () => {
  const tainted = groupOf([1, 0], { arm: 'hint', tainted: true })
  const launders = hint({
    group: ([first]) => [
      groupOf(
        first!.rollouts.map((rollout) => ({ ...rollout })),
        { arm: 'base' },
      ),
    ],
  })
  const { plugins } = await setUp([launders])
  const [group] = await plugins.round({ step: 0 }).group([tainted], VIEW)
  expect(group).toMatchObject({ arm: 'base', tainted: true })
})

test('a plugin that always asks for more comes to an end', async () => {
  const { plugins } = await setUp([
    hint({ extend: ({ asked }) => [request(`r${asked}`)] }, { budget: () => ({ tokens: 1e9 }) }),
  ])
  const round = plugins.round({ step: 0 })
  let times = 0
  while ((await round.extend(nothingLanded, VIEW)).length > 0 && times < 1000) times += 1
  expect(times).toBe(64)
})
