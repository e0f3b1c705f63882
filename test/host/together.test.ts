// Configurations that must not start, and what is said about them.

import { expect, test } from 'vitest'
import type { Plugin } from '../../protocol/plugin/index.ts'
import { make, plugin } from './setup.ts'

async function problemsOf(
  plugins: readonly Plugin[],
  options: Parameters<typeof make>[1] = {},
): Promise<string[]> {
  const error = await make(plugins, options).made.then(
    () => undefined,
    (cause: unknown) => cause as Error & { code: string; hint: string },
  )
  if (!error) return []
  expect(error.code).toBe('E_PLUGIN')
  expect(error.hint).toMatch(/waggle plugins check/)
  return error.message.split('\n')
}

test('all problems are reported at once, each with its remedy', async () => {
  const hill = plugin(
    'hill',
    'hint',
    {},
    {
      needs: ['privileged', 'recurring'],
      claims: ['hinted'],
      roles: [{ name: 'writer', trainable: true }],
    },
  )
  const sage = plugin(
    'sage',
    'hint',
    {},
    {
      claims: ['hinted'],
      conflicts: [{ with: 'skill', because: 'both rewrite the prompt' }],
      requires: [{ plugin: 'control/partner', because: 'it sets the pace' }],
      roles: [{ name: 'writer', trainable: false }],
    },
  )
  const library = plugin('library', 'skill', {}, { budget: () => ({ tokens: Number.NaN }) })
  const problems = await problemsOf([hill, sage, library], { offers: new Set(['privileged']) })
  expect(problems).toEqual([
    'hint "hill" needs recurring prompts: a fixed set of them (rollout.prompts), which this node does not have: set rollout.prompts, such as 256, so that the node trains on a fixed set of prompts, or take the plugin out',
    'hint "hill" and hint "sage" both take the place of "hinted" (what replaces all-wrong groups by hinted ones): keep one of them',
    'hint "sage" cannot be used with skill "library": both rewrite the prompt; take one of them out of the config',
    'hint "sage" needs control/partner: it sets the pace; put partner into the config as well',
    'hint "hill" and hint "sage" both have a role "writer": keep one of them',
    'skill "library" has a budget of NaN tokens: correct its settings',
  ])
})

test('two plugins with the hooks of one place conflict even where their manifests claim nothing', async () => {
  const [a, b] = ['a', 'b'].map((name) => plugin(name, 'control', { steer: () => new Map() }))
  expect(await problemsOf([a!, b!])).toEqual([
    expect.stringMatching(/control "a" and control "b" both take the place of "flow"/),
  ])
})

test('a plugin in the wrong table, a plugin twice, and an unknown need are reported', async () => {
  const hint = plugin('hint', 'hint', {})
  expect(await problemsOf([hint], { skills: [{ use: 'hint' }] })).toEqual([
    'skill "hint": it is a hint plugin and belongs under "hints" in the config',
  ])
  expect(await problemsOf([hint], { hints: [{ use: 'hint' }, { use: 'hint' }] })).toEqual([
    'hint "hint" is in the config twice: keep one',
  ])
  const later = plugin('later', 'hint', {}, { needs: ['telepathy' as 'score'] })
  expect(await problemsOf([later])).toEqual([expect.stringMatching(/needs "telepathy", .* update Waggle/)])
})

test('what fits starts, and selectors that only weigh stand beside the default picker', async () => {
  const weighs = plugin('weighs', 'selector', { weigh: (candidates) => candidates.map(() => 1) })
  const host = await make([weighs], { selector: { use: 'weighs' } }).made
  expect(host.facts.map(({ name, slots }) => [name, slots])).toEqual([
    ['grpo', ['estimator']],
    ['clip', []],
    ['weighs', []],
    ['uniform', ['picker']],
  ])
})

test('hooks run in the order of manifests, then of the configuration', async () => {
  const first = plugin('first', 'control', {}, { order: -1 })
  const [a, b] = ['a', 'b'].map((name) => plugin(name, 'hint', {}))
  const host = await make([b!, a!, first]).made
  expect(host.facts.map(({ name }) => name)).toEqual(['first', 'b', 'a', 'grpo', 'clip', 'uniform'])
})
