// What is left of an object whose text was cut off.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { closed } from '../../daemon/agents/dialects/spans.ts'

it.each([
  ['', '{}'],
  ['{', '{}'],
  ['{"a', '{}'],
  ['{"a": 1', '{}'],
  ['{"a": 1,', '{"a": 1}'],
  ['{"a": tr', '{}'],
  ['{"a": "x\\', '{"a": "x"}'],
  ['{"a": "\\\\u00', '{"a": "\\\\u00"}'],
  ['{"a": "\\u00', '{"a": ""}'],
  ['{"a": [1, {"b": "x", "c', '{"a": [1, {"b": "x"}]}'],
  ['{"a": {"b": []}, "c":', '{"a": {"b": []}}'],
  ['{"a": "}", "b": 2}', '{"a": "}", "b": 2}'],
])('%j is closed as %j', (json, whole) => {
  expect(closed(json)).toBe(whole)
})

it('the text of an object is JSON wherever it was cut off, and as it was if it was not', () => {
  const values = fc.jsonValue().map((value) => JSON.stringify({ value }))
  fc.assert(
    fc.property(values, fc.nat(), (json, at) => {
      expect(() => JSON.parse(closed(json.slice(0, at % json.length)))).not.toThrow()
      expect(closed(json)).toBe(json)
    }),
  )
})
