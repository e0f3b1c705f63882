import { expect, test } from 'vitest'
import { suggest } from '../../protocol/suggest.ts'

const words = ['status', 'stop', 'peers', 'config', 'checkpoint']

test.each([
  ['stauts', 'status'],
  ['staus', 'status'],
  ['pears', 'peers'],
  ['check', 'checkpoint'],
  ['sotp', 'stop'],
])('%s is taken for %s', (typed, meant) => expect(suggest(typed, words)).toBe(meant))

test.each(['x', 'frobnicate', ''])('nothing is guessed for "%s"', (typed) =>
  expect(suggest(typed, words)).toBeUndefined(),
)
