// What the host says of a module that is not a plugin it can load.

import { expect, test } from 'vitest'
import { asPlugin, loadPlugins } from '../../daemon/host/load.ts'
import { definePlugin } from '../../protocol/plugin/index.ts'

const good = definePlugin({
  name: 'sample',
  kind: 'control',
  api: 1,
  summary: 'Does nothing.',
  settings: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => ({ value: {} }),
    },
  },
  create: () => ({}),
})

test('a plugin is taken as it is', () => {
  expect(asPlugin(good)).toBe(good)
})

test.each(['budget', 'needs', 'order'])('a manifest key beside the others is refused: %s', (key) => {
  expect(() => asPlugin({ ...good, [key]: () => ({}) })).toThrow(
    `its "${key}" has no effect there: put it into manifest, as manifest: { ${key} }`,
  )
})

test.each([
  ['nothing', undefined, /default export of the module is not a plugin/],
  ['another API', { ...good, api: 2 }, /made for plugin API 2, but this is 1/],
  ['another kind', { ...good, kind: 'verifier' }, /"verifier" is not a kind of plugin that can be loaded/],
  ['a name with spaces', { ...good, name: 'a b' }, /its name must be/],
  ['no settings', { ...good, settings: undefined }, /its settings are not a Standard Schema/],
])('refused, with the reason: %s', (_, value, reason) => {
  expect(() => asPlugin(value)).toThrow(reason)
})

const renamed = { ...good, name: 'sample_like', manifest: { formerly: 'sample' } }
const source = {
  builtIn: [renamed],
  gone: {
    'control/idle': { because: 'it never acted', harmless: true },
    'control/lost': { because: 'it lost; use "sample_like"' },
  },
  importPlugin: () => Promise.reject(new Error('nothing is imported here')),
}
const load = (use: string) => loadPlugins([{ kinds: ['control'], choice: { use } }], source)

test('the name of the last version finds a plugin, with a notice', async () => {
  const { loaded, problems, notices } = await load('sample')
  expect(loaded.map(({ plugin }) => plugin.name)).toEqual(['sample_like'])
  expect(problems).toEqual([])
  expect(notices).toEqual(['control "sample" is now called "sample_like": rename it in the config.'])
})

test('its present name needs no notice', async () => {
  expect(await load('sample_like')).toMatchObject({ problems: [], notices: [] })
})

test('a deleted plugin that did nothing is left out, with a notice', async () => {
  expect(await load('idle')).toEqual({
    loaded: [],
    problems: [],
    notices: ['control "idle": it is gone: it never acted. Remove it from the config.'],
  })
})

test('a deleted plugin that did something is a problem that says what to use', async () => {
  expect((await load('lost')).problems).toEqual(['control "lost": it is gone: it lost; use "sample_like"'])
})

test.each<[string, unknown, RegExp]>([
  ['a promise', Promise.resolve({}), /create function returned a promise/],
  ['nothing', undefined, /create function returned undefined instead of hooks/],
  ['hooks that there are not', { rewards: () => [] }, /rewards is no hook\. Did you mean "reward"\?/],
])('a plugin whose create returns %s is refused, with the reason', async (_, created, reason) => {
  const odd = { ...good, create: () => created as never }
  const { problems } = await loadPlugins([{ kinds: ['control'], choice: { use: 'sample' } }], {
    ...source,
    builtIn: [odd],
  })
  expect(problems).toEqual([expect.stringMatching(reason)])
})

test('a choice without a name takes no plugin', async () => {
  const { loaded, problems } = await loadPlugins([{ kinds: ['control'], choice: { weight: 2 } as never }], {
    ...source,
    builtIn: [good],
  })
  expect(loaded).toEqual([])
  expect(problems).toEqual([expect.stringContaining('it has no name')])
})
