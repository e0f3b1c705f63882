// JSON that keeps the digits of its numbers.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isWritten, parseExact, rounded } from '../../protocol/exact-json.ts'

describe('parseExact', () => {
  test.each([
    '{"order":9007199254740993,"price":1.0,"list":[1e5,1E+2,-0,0.10,1e999]}',
    '[3.14159265358979323846]',
    '-0',
    '{"a":{"b":[[1.50]]},"text":"1.0 and 9007199254740993"}',
  ])('%s is written again as it was', (text) => {
    expect(JSON.stringify(parseExact(text))).toBe(text)
  })

  test('numbers that JavaScript prints as they are written are plain numbers', () => {
    expect(parseExact('[0, -1, 12, 0.1, 1.5, 9007199254740991, 1e+21]')).toEqual([
      0,
      -1,
      12,
      0.1,
      1.5,
      Number.MAX_SAFE_INTEGER,
      1e21,
    ])
  })

  test('every number of JSON keeps its digits', () => {
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?([eE][+-]?\d{1,3})?$/)
    fc.assert(
      fc.property(digits, (number) => {
        expect(JSON.stringify(parseExact(`{"a":[${number}]}`))).toBe(`{"a":[${number}]}`)
        expect(rounded(parseExact(number))).toBe(JSON.parse(number))
      }),
    )
  })

  test('an object that looks like a written number is not one', () => {
    expect(isWritten(parseExact('{"rawJSON":"1.0"}'))).toBe(false)
  })

  test('text that is not JSON is refused', () => {
    for (const text of ['', '01.0', '{"a":1.}', '+1.0', 'NaN'])
      expect(() => parseExact(text)).toThrow(SyntaxError)
  })
})
