import { expect, test } from 'vitest'
import { remembered } from '../../daemon/policy/tokens/remembered.ts'

test('short texts are made once, as long as there are not too many others', () => {
  const made: string[] = []
  const upper = remembered((text) => {
    made.push(text)
    return text.toUpperCase()
  }, 2)
  expect(['a', 'b', 'a', 'c', 'b', 'a'].map(upper)).toEqual(['A', 'B', 'A', 'C', 'B', 'A'])
  expect(made).toEqual(['a', 'b', 'c', 'a'])
  const long = 'x'.repeat(257)
  expect([upper(long), upper(long)]).toEqual([long.toUpperCase(), long.toUpperCase()])
  expect(made.filter((text) => text === long)).toHaveLength(2)
})
