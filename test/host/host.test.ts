import { expect, test } from 'vitest'
import { z } from 'zod'
import { createPluginHost, type PluginHostOptions, type PluginTrouble } from '../../daemon/host/host.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { CORRECTIONS } from '../../plugins/corrections/index.ts'
import { ESTIMATORS } from '../../plugins/estimators/index.ts'
import { SELECTORS } from '../../plugins/selectors/index.ts'
import { definePlugin, expression, type Hooks, type Plugin } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { group } from '../trainer/groups.ts'

const BUILT_IN = [...ESTIMATORS, ...CORRECTIONS, ...SELECTORS]
const VIEW = { lineage: 'a', tokenizer: 'b', version: 3, self: 'me' }

function plugin(name: string, kind: Plugin['kind'], hooks: Hooks): Plugin {
  return definePlugin({ name, kind, api: 1, summary: '', settings: z.strictObject({}), create: () => hooks })
}

function setUp(options: Partial<PluginHostOptions> = {}, more: Plugin[] = []) {
  const troubles: PluginTrouble[] = []
  let time = 0
  const made = createPluginHost(
    {
      estimator: { use: 'grpo' },
      corrections: [{ use: 'clip' }, { use: 'tis' }],
      selector: { use: 'uniform' },
      seed: 1,
      ...options,
    },
    {
      builtIn: [...BUILT_IN, ...more],
      importPlugin: async (specifier) => {
        throw new Error(`cannot find ${specifier}`)
      },
      now: () => time,
      sleep: async (ms) => {
        time += ms
      },
      log() {},
      onTrouble: (trouble) => troubles.push(trouble),
    },
  )
  return { made, troubles }
}

test('all problems of a configuration are reported at once, with the available names', async () => {
  const { made } = setUp({
    estimator: { use: 'grop' },
    corrections: [{ use: 'clip', low: 7 }, { use: 'tis', cpa: 2 }, { use: './mine.ts' }],
  })
  await expect(made).rejects.toMatchObject({ code: 'E_PLUGIN' })
  const message = await made.then(
    () => '',
    (error: Error) => error.message,
  )
  expect(message).toMatch(/estimator "grop": there is no such plugin; the built-in ones are grpo,/)
  expect(message).toMatch(/correction "clip": low: /)
  expect(message).toMatch(/correction "tis": .*cpa/)
  expect(message).toMatch(/correction ".\/mine.ts": cannot find/)
})

test('a configuration has exactly one loss', async () => {
  await expect(setUp({ corrections: [{ use: 'tis' }] }).made).rejects.toThrow(/no correction gives a loss/)
  await expect(setUp({ corrections: [{ use: 'clip' }, { use: 'gspo' }] }).made).rejects.toThrow(
    /several corrections give a loss: clip, gspo/,
  )
})

test('weights multiply and a mask removes a token whatever its loss', async () => {
  const { column, exp } = expression
  const loss = plugin('loss', 'correction', { correct: () => ({ loss: exp(column('advantage')) }) })
  const half = plugin('half', 'correction', { correct: () => ({ weight: 0.5 }) })
  const twice = plugin('twice', 'correction', {
    correct: () => ({ weight: 2, mask: column('known'), metrics: { known: column('known') } }),
  })
  const { made } = setUp({ corrections: [{ use: 'loss' }, { use: 'half' }, { use: 'twice' }] }, [
    loss,
    half,
    twice,
  ])
  const { objective } = await made
  expect(Object.keys(objective.metrics)).toEqual(['twice.known'])
  const { evaluate } = await import('../../protocol/plugin/expression/expression.ts')
  expect([...evaluate(objective.loss, { mask: [1, 1], advantage: [0, 1e9], known: [1, 0] })]).toEqual([1, 0])
})

test('a group hook that throws is skipped, struck, and off after the third time', async () => {
  const bad = plugin('bad', 'correction', {
    group() {
      throw new Error('broken')
    },
  })
  const { made, troubles } = setUp({ corrections: [{ use: 'clip' }, { use: 'bad' }] }, [bad])
  const host = await made
  const groups = [group([1, 0])]
  for (let step = 0; step < 4; step++) expect(await host.batch({ step }).group(groups, VIEW)).toEqual(groups)
  expect(troubles.map(({ switchedOff }) => switchedOff)).toEqual([false, false, true])
  expect(host.status().find(({ name }) => name === 'bad')).toMatchObject({
    state: 'off',
    strikes: 3,
    message: 'broken',
  })
})

test('a hook that hangs costs its time limit, not the step', async () => {
  const hangs = plugin('hangs', 'correction', { group: () => new Promise<Group[]>(() => {}) })
  const { made, troubles } = setUp({ corrections: [{ use: 'clip' }, { use: 'hangs' }], hookTimeoutMs: 50 }, [
    hangs,
  ])
  const groups = [group([1, 0])]
  expect(await (await made).batch({ step: 0 }).group(groups, VIEW)).toEqual(groups)
  expect(troubles[0]!.message).toBe('took longer than 50 ms')
})

test('an estimator that fails fails the step, each time', async () => {
  const cases: [Hooks['advantage'], RegExp][] = [
    [() => [], /gave 0 groups of advantages for 1/],
    [() => [[1]], /gave 1 advantages for 2 rollouts/],
    [() => [[Number.NaN, 0]], /not finite/],
    [() => [[Float32Array.of(1), 0]], /another length/],
  ]
  for (const [advantage, message] of cases) {
    const wrong = plugin('wrong', 'estimator', { advantage: advantage! })
    const host = await setUp({ estimator: { use: 'wrong' } }, [wrong]).made
    for (let step = 0; step < 4; step++)
      await expect(host.batch({ step }).advantage([group([1, 0])])).rejects.toThrow(message)
  }
})

test('a plugin draws from its own stream, the same one each time', async () => {
  const drawn: number[] = []
  const draws = plugin('draws', 'correction', {
    group(groups, _, context) {
      drawn.push(context.random('a')(), context.random('b')())
      context.metric('seen', groups.length)
      return groups
    },
  })
  const host = await setUp({ corrections: [{ use: 'clip' }, { use: 'draws' }] }, [draws]).made
  await host.batch({ step: 0 }).group([group([1, 0])], VIEW)
  await host.batch({ step: 1 }).group([group([1, 0])], VIEW)
  expect(drawn[0]).toBe(drawn[2])
  expect(drawn[0]).not.toBe(drawn[1])
  expect(host.takeMetrics()).toEqual({ 'draws.seen': 1 })
  expect(host.takeMetrics()).toEqual({})
})

test('random streams are uniform and differ by seed and name', () => {
  const random = randomStream(7, 'x')
  const values = Array.from({ length: 20_000 }, random)
  const mean = values.reduce((a, b) => a + b, 0) / values.length
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.01)
  expect(values.every((value) => value >= 0 && value < 1)).toBe(true)
  expect(randomStream(7, 'x')()).toBe(values[0])
  expect(randomStream(8, 'x')()).not.toBe(values[0])
  expect(randomStream(7, 'y')()).not.toBe(values[0])
})

test.each<[string, Hooks['correct'], RegExp]>([
  [
    'throws',
    () => {
      throw new Error('boom')
    },
    /^correction "odd": boom$/,
  ],
  [
    'is a promise',
    (async () => ({ loss: 1 })) as never,
    /^correction "odd": its correct hook returned a promise/,
  ],
  ['gives nothing', (() => undefined) as never, /^correction "odd": its correct hook returned undefined$/],
  ['gives a function', (() => ({ loss: () => 1 })) as never, /^correction "odd": .*unknown operation/],
])('a correct hook that %s is reported with the name of its plugin', async (_, correct, message) => {
  const odd = plugin('odd', 'correction', { correct: correct! })
  await expect(setUp({ corrections: [{ use: 'odd' }] }, [odd]).made).rejects.toThrow(message)
})
