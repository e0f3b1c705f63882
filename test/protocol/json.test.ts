// JSON that only passes through keeps its numbers, and is written for templates as Python writes it.

import { expect, it } from 'vitest'
import { numberText, parseExactly, pythonJson } from '../../protocol/json.ts'

const NUMBERS = ['9007199254740993', '1.0', '-0', '1e5', '12345678901234567890.5', '1e400', '12', '-0.5']

it.each(NUMBERS)('%s is written as it was read', (text) => {
  expect(JSON.stringify(parseExactly(text))).toBe(text)
  expect(numberText(parseExactly(text))).toBe(text)
  expect(JSON.stringify(parseExactly(`{"a":[${text},"${text}"]}`))).toBe(`{"a":[${text},"${text}"]}`)
})

it('numbers that a double holds as they are written are plain numbers', () => {
  expect(parseExactly('{"a": [12, -0.5, 1e+21], "b": null}')).toEqual({ a: [12, -0.5, 1e21], b: null })
})

it('an object that only looks like a raw number is an object', () => {
  expect(numberText(parseExactly('{"rawJSON": "1"}'))).toBeUndefined()
  expect(pythonJson(parseExactly('{"rawJSON": "1"}'))).toBe('{"rawJSON": "1"}')
})

// From json.dumps(json.loads(text), ensure_ascii=False) of Python 3.
it.each([
  ['{"a":1,"b":[true,null,{}],"c":[]}', '{"a": 1, "b": [true, null, {}], "c": []}'],
  ['"é\\n\\u0001\\u007f<\\/"', '"é\\n\\u0001\u007f</"'],
  ['9007199254740993', '9007199254740993'],
  ['12345678901234567890.5', '1.2345678901234567e+19'],
  ['1.0', '1.0'],
  ['1e5', '100000.0'],
  ['1E+2', '100.0'],
  ['1e16', '1e+16'],
  ['9999999999999998.0', '9999999999999998.0'],
  ['0.0001', '0.0001'],
  ['0.00001', '1e-05'],
  ['1e-7', '1e-07'],
  ['1.5e300', '1.5e+300'],
  ['1e400', 'Infinity'],
  ['-1e400', '-Infinity'],
  ['5e-324', '5e-324'],
  ['1e21', '1e+21'],
  ['-0', '0'],
  ['-0.0', '-0.0'],
  ['-12.50', '-12.5'],
])('%s is %s in Python', (text, python) => {
  expect(pythonJson(parseExactly(text))).toBe(python)
})
