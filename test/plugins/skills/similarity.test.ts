import { describe, expect, it } from 'vitest'
import { areAlike, matchRatio, wordJaccard } from '../../../plugins/skills/library/similarity.ts'

describe('likeness of texts', () => {
  it('merges short texts that differ in the one noun that decides', () => {
    const [key, lamp] = ['open the drawer then take the key', 'open the drawer then take the lamp']
    expect(wordJaccard(key, lamp)).toBeCloseTo(0.7143, 4)
    expect(matchRatio(key, lamp)).toBeCloseTo(0.8955, 4)
    expect(areAlike(key, lamp)).toBe(true)
    expect(areAlike(key, 'close the window and leave')).toBe(false)
    // As Python's SequenceMatcher has them, without its rule for frequent characters.
    expect(matchRatio('add the ones then carry', 'carry the ones then add')).toBeCloseTo(
      0.7391304347826086,
      10,
    )
    expect(matchRatio('aab abb aab', 'abb aab abb aab')).toBeCloseTo(0.8461538461538461, 10)
    expect([matchRatio('', ''), matchRatio('abc', ''), matchRatio('abcd', 'bcde')]).toEqual([1, 0, 0.75])
  })

  it('looks at the first 300 characters', () => {
    const start = Array.from({ length: 60 }, (_, i) => i.toString(36).padStart(5, 'q')).join('')
    expect(areAlike(`${start} one two three`, `${start} ${'four five six '.repeat(40)}`)).toBe(true)
  })
})
