import { expect, test } from 'vitest'
import { filterNote, filterOf } from '../../tui/filter.ts'

const kept = (typed: string, ...texts: string[]): string[] => texts.filter(filterOf(typed).matches)

test('a filter is a regular expression, in which case does not matter', () => {
  expect(kept('elk|Fox', 'Spry-Elk', 'shy-fox', 'owl')).toEqual(['Spry-Elk', 'shy-fox'])
  expect(kept('^step \\d+$', 'step 12', 'a step 12')).toEqual(['step 12'])
  expect(kept('', 'a', '')).toEqual(['a', ''])
})

test('! leaves what does not match; alone it leaves all', () => {
  expect(kept('!elk', 'elk', 'fox')).toEqual(['fox'])
  expect(kept('!', 'elk', 'fox')).toEqual(['elk', 'fox'])
  expect(kept('\\!', 'a!', 'b')).toEqual(['a!'])
})

test.each(['(', '[', '*', '!(', 'a{2,1}', '\\'])(
  '%s is no expression: it hides nothing and says so',
  (typed) => {
    expect(kept(typed, 'a', 'b')).toEqual(['a', 'b'])
    expect(filterNote(typed)).toMatch(/not an expression: \S/)
  },
)

test('the parts that match are found, for marking', () => {
  expect(filterOf('a+').found('caat a')).toEqual([
    [1, 3],
    [5, 6],
  ])
  expect(filterOf('x*').found('ab')).toEqual([])
  expect(filterOf('!a').found('a')).toEqual([])
})

test.each(['(a+)+$', '((a*)b?)*', '(a|aa)+$', '(?:a?){40}', '(a*)\\1', '(?<n>a)\\k<n>', 'a*a*a*b'])(
  '%s could stall the screen: it hides nothing and says so',
  (typed) => {
    expect(kept(typed, 'a'.repeat(5000), 'b')).toHaveLength(2)
    expect(filterNote(typed)).toContain('can take forever')
  },
)

test('repeated parts see the begin of a text, plain words all of it', () => {
  const long = `${'x'.repeat(1000)} elk`
  expect([kept('elk', long), kept('e.*k', long), kept('x.*x', long)]).toEqual([[long], [], [long]])
  expect(kept('\\(a+\\)|[+*{]b', '(aa)', '*b', 'c')).toEqual(['(aa)', '*b'])
})
