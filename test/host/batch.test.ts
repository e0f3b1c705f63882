// The train side: groups, advantages and what plugins give back after the update.

import { expect, test } from 'vitest'
import type { Advantages, Context, Hooks, RoleGroup } from '../../protocol/plugin/index.ts'
import type { Rollout } from '../../protocol/train/index.ts'
import { groupOf, rolloutOf } from '../plugins/samples.ts'
import { make, plugin, setUp, VIEW } from './setup.ts'

const replay = (hooks: Hooks, manifest = {}) => plugin('again', 'replay', hooks, manifest)
const known = (reward: number, more: Partial<Rollout> = {}) =>
  rolloutOf(reward, 2, { behaviourLogprobs: Float32Array.of(-1, -2), replayed: 1, ...more })

test('a replayed rollout without behaviour log-probs is refused by name, and the batch stays as it was', async () => {
  const { behaviourLogprobs: _, ...unknown } = known(1)
  const { plugins, troubles } = await setUp([replay({ group: (groups) => [...groups, groupOf([unknown])] })])
  const groups = [groupOf([1, 0])]
  expect(await plugins.batch({ step: 0 }).group(groups, VIEW)).toEqual(groups)
  expect(troubles[0]?.message).toMatch(/^ReplayWithoutLogprobsError: /)
})

test.each<[string, Partial<Rollout>, RegExp]>([
  ['log-probs of another length', { behaviourLogprobs: Float32Array.of(-1) }, /1 behaviour log-probs for 2/],
  ['log-probs above 0', { behaviourLogprobs: Float32Array.of(-1, 5) }, /log-probs that are none/],
  [
    'log-probs that are no numbers',
    { behaviourLogprobs: Float32Array.of(-1, Number.NaN) },
    /log-probs that are none/,
  ],
  ['a loss mask of another length', { lossMask: Uint8Array.of(1) }, /loss mask of 1 for 2/],
  ['no tokens', { tokens: new Int32Array(), behaviourLogprobs: new Float32Array() }, /without tokens/],
  ['a reward that is no number', { reward: Number.NaN }, /not finite/],
  ['an empty conditioning', { conditioning: new Int32Array() }, /conditioning that is none/],
])('a rollout with %s is refused', async (_, more, message) => {
  const { plugins, troubles } = await setUp([replay({ group: () => [groupOf([known(1, more)])] })])
  await plugins.batch({ step: 0 }).group([groupOf([1, 0])], VIEW)
  expect(troubles[0]?.message).toMatch(message)
})

test('a plugin is not blamed for a group that was no good before it saw it', async () => {
  const { plugins, troubles } = await setUp([replay({ group: (groups) => groups })])
  const [good, empty] = [groupOf([1, 0]), groupOf([1, 0])]
  empty.rollouts[0] = rolloutOf(1, 0, { tokens: new Int32Array() })
  for (let i = 0; i < 4; i++) {
    expect(await plugins.batch({ step: i }).group([good, empty], VIEW)).toEqual([good])
    expect(await plugins.round({ step: i }).group([good, empty], VIEW)).toEqual([good])
  }
  expect(troubles).toEqual([])
})

test('hooks are told whether they look at a round or at a batch; corrections see batches only', async () => {
  const seen: string[] = []
  const look = (name: string, kind: 'replay' | 'correction') =>
    plugin(name, kind, {
      group(groups, view) {
        seen.push(`${name} ${view.at}`)
        return groups
      },
    })
  const { plugins } = await setUp([look('a', 'replay'), look('b', 'correction')])
  await plugins.round({ step: 0 }).group([groupOf([1])], VIEW)
  await plugins.batch({ step: 0 }).group([groupOf([1])], VIEW)
  expect(seen).toEqual(['a round', 'a batch', 'b batch'])
})

test('advantages are changed after the estimator, plugin by plugin; a failure leaves what was before', async () => {
  const scale = (name: string, factor: number) =>
    plugin(name, 'control', {
      modify: (advantages) =>
        advantages.map((rows) => rows.map((row) => (typeof row === 'number' ? factor * row : row))),
    })
  const spoils = plugin('spoils', 'control', {
    modify(advantages) {
      advantages[0]![0] = Number.NaN
      return advantages
    },
  })
  const { plugins, troubles } = await setUp([scale('twice', 2), spoils, scale('back', 0.5)])
  const groups = [groupOf([1, 0])]
  const plain = await (await setUp([])).plugins.batch({ step: 0 }).advantage(groups)
  expect(await plugins.batch({ step: 0 }).advantage(groups)).toEqual(plain)
  expect(troubles.map(({ name, message }) => [name, message])).toEqual([
    ['spoils', 'gave an advantage that is not finite'],
  ])
})

test('columns of a correction are what its hook says, and what it began with where that fails or is silent', async () => {
  const correct = () => ({ weight: { column: 'x.factor' }, columns: { factor: 2, other: 3 } })
  const cases: [Hooks['columns'], object, RegExp | undefined][] = [
    [undefined, {}, undefined],
    [() => ({}), {}, undefined],
    [() => ({ factor: 0.5 }), { 'x.factor': 0.5 }, undefined],
    [() => ({ other: [[1, Float32Array.of(4)]] }), { 'x.other': [[1, Float32Array.of(4)]] }, undefined],
    [() => ({ factor: Number.NaN }), {}, /column "factor" that does not fit/],
    [() => ({ factor: [[1]] }), {}, /column "factor" that does not fit/],
    [() => ({ factor: [[1, Float32Array.of(1, 2)]] }), {}, /column "factor" that does not fit/],
    [() => ({ advantage: 1 }), {}, /column "advantage", which its correct hook does not name/],
    [
      (advantages) => {
        advantages[0]![0] = 7
        throw new Error('lost')
      },
      {},
      /lost/,
    ],
  ]
  for (const [columns, said, message] of cases) {
    const { plugins, troubles } = await setUp([
      plugin('x', 'correction', { correct, ...(columns && { columns }) }),
    ])
    const advantages = [[1, -1]]
    const given = await plugins.batch({ step: 0 }).columns(advantages, [groupOf([1, 0])])
    expect(given).toEqual({ 'x.factor': 2, 'x.other': 3, ...said })
    expect(troubles.map((trouble) => message?.test(trouble.message))).toEqual(message ? [true] : [])
    expect(advantages).toEqual([[1, -1]])
  }
})

test('texts of roles reach the trainer if the manifest has the role and they are whole', async () => {
  const text = (more: object = {}) => ({
    conditioning: Int32Array.of(1),
    tokens: Int32Array.of(2, 3),
    logprobs: Float32Array.of(-1, -1),
    reward: 1,
    ...more,
  })
  const cases: [RoleGroup, RegExp | undefined][] = [
    [{ role: 'writer', rollouts: [text(), text()] }, undefined],
    [{ role: 'reader', rollouts: [text()] }, /"reader", which is no trainable role/],
    [{ role: 'frozen', rollouts: [text()] }, /"frozen", which is no trainable role/],
    [{ role: 'writer', rollouts: [text({ logprobs: Float32Array.of(-1) })] }, /do not fit together/],
    [{ role: 'writer', rollouts: [text({ reward: Number.NaN })] }, /not finite/],
    [{ role: 'writer', rollouts: [text({ temperature: 0.7 })] }, undefined],
    [{ role: 'writer', rollouts: [text({ temperature: -1 })] }, /a temperature that is none/],
  ]
  for (const [group, message] of cases) {
    const writer = plugin(
      'writer',
      'hint',
      { commit: () => ({ train: [group] }) },
      {
        roles: [
          { name: 'writer', trainable: true },
          { name: 'frozen', trainable: false },
        ],
      },
    )
    const { plugins, troubles } = await setUp([writer])
    const given = await plugins
      .batch({ step: 0 })
      .commit({ step: 1, metrics: {}, groups: [], advantages: [] })
    expect(given).toEqual(message ? [] : [group])
    expect(troubles.map((trouble) => message?.test(trouble.message))).toEqual(message ? [true] : [])
  }
})

test('commit gets the groups that were trained on, with their advantages', async () => {
  let told: { groups: readonly unknown[]; advantages: Advantages } | undefined
  const { plugins } = await setUp([
    plugin('looks', 'control', {
      commit(report) {
        told = report
        return undefined
      },
    }),
  ])
  const groups = [groupOf([1, 0])]
  const batch = plugins.batch({ step: 0 })
  const advantages = await batch.advantage(groups)
  await batch.commit({ step: 1, metrics: {}, groups, advantages })
  expect(told).toMatchObject({ groups, advantages })
})

test('a plugin gets hidden states where it asks for them', async () => {
  const asked: Array<boolean | undefined> = []
  const items = [{ conditioning: Int32Array.of(1), completion: Int32Array.of(2) }]
  const scoring = plugin('scoring', 'control', {
    async modify(advantages, _, context) {
      await context.score(items)
      await context.score(items, { hidden: true })
      return advantages
    },
  })
  const { made, world } = make([scoring])
  const plugins = await made
  const score: typeof world.score = (given, options) => {
    asked.push(options.hidden)
    return world.score(given, options)
  }
  await plugins.open({ ...world, score }, 0)
  await plugins.batch({ step: 0 }).advantage([groupOf([1, 0])])
  expect(asked).toEqual([false, true])
})

test('what teachers say must fit the groups; what does not costs the plugin its part', async () => {
  const top = (count: number, logprob = -1) => ({
    ...{ count, tokens: Int32Array.of(1, 2) },
    logprobs: Float32Array.of(logprob, logprob),
  })
  const taught = async (teaching: unknown) => {
    const one = plugin('one', 'correction', { teach: () => teaching as never })
    const { plugins, troubles } = await setUp([one])
    const said = await plugins.batch({ step: 0 }).teach([groupOf([rolloutOf(1, 1), rolloutOf(0, 1)])])
    return { said, message: troubles[0]?.message }
  }
  expect(await taught([[top(2), undefined]])).toMatchObject({
    said: [[top(2), undefined]],
    message: undefined,
  })
  for (const [teaching, message] of [
    [[], /0 groups of 1/],
    [[[top(2)]], /1 rollouts of 2/],
    [[[top(1), undefined]], /1 places of 1/],
    [[[top(2, 0.5), undefined]], /above 0/],
  ] as const) {
    const refused = await taught(teaching)
    expect(refused.said).toBeUndefined()
    expect(refused.message).toMatch(message)
  }
})

test('teachers can only be asked while a batch is prepared', async () => {
  const seen: string[] = []
  const asks = (context: Context): Promise<unknown> =>
    context.answer([]).catch((error: Error) => seen.push(error.message))
  const one = plugin('one', 'control', { observe: async (_, context) => void (await asks(context)) })
  const { plugins } = await setUp([one])
  await plugins.round({ step: 0 }).observe([groupOf([1, 0])])
  expect(seen).toEqual(['teachers can only be asked while a batch is prepared'])
})

test.each<[string, Hooks['advantage']]>([
  ['nothing', (() => undefined) as never],
  ['a number', (() => 1) as never],
  ['nothing for a group', ((groups: unknown[]) => groups.map(() => undefined)) as never],
])('an estimator that returns %s is told what was expected', async (_, advantage) => {
  const odd = plugin('odd', 'estimator', { advantage: advantage! })
  const { plugins, troubles } = await setUp([odd], { estimator: { use: 'odd' } })
  await expect(plugins.batch({ step: 0 }).advantage([groupOf([1, 0])])).rejects.toThrow()
  expect(troubles[0]?.message).toBe('did not return advantages as a list for each group')
})
