// What the host says of a module that is not a plugin it can load.

import { expect, test } from 'vitest'
import { asPlugin } from '../../daemon/host/load.ts'
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
