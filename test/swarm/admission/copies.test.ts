import { expect, test } from 'vitest'
import { Copies, type Said } from '../../../daemon/swarm/admission/copies.ts'

const long = (text: string): string => `${text}, worked out line by line, with the answer at its end`
const said = (author: string, texts: readonly string[]): Said => ({
  prompt: 'p',
  author,
  texts: texts.map(long),
})
const copies = (): Copies => new Copies({}, { isKnown: (author) => author === 'known' })

test('a newcomer whose text is a known author’s is refused', () => {
  const seen = copies()
  seen.admit(said('known', ['one', 'two', 'three', 'four']))
  expect(seen.isCopy(said('stranger', ['one', 'two', 'three', 'else']))).toBe(true)
})

test('an honest twin is not refused for what its policy writes most of the time', () => {
  const seen = copies()
  seen.admit(said('known', ['mode', 'mode', 'mode', 'mine']))
  expect(seen.isCopy(said('twin', ['mode', 'mode', 'mode', 'its own']))).toBe(false)
})

test('the texts of four authors of a prompt are remembered; strangers’ make room for those of others', () => {
  const texts = (name: string) => [`${name} 1`, `${name} 2`]
  const known = new Set<string>()
  const seen = new Copies({}, { isKnown: (author) => known.has(author) })
  for (const name of ['a', 'b', 'c', 'd']) seen.admit(said(name, texts(name)))
  for (const name of ['a', 'b', 'c', 'd']) known.add(name)
  for (const name of ['a', 'b', 'c', 'd']) expect(seen.isCopy(said('thief', texts(name)))).toBe(true)
  // All four are known by now.
  seen.admit(said('e', texts('e')))
  known.add('e')
  expect(seen.isCopy(said('thief', texts('e')))).toBe(false)
  known.delete('b')
  seen.admit(said('e', texts('e')))
  known.add('b')
  expect(seen.isCopy(said('thief', texts('e')))).toBe(true)
  expect(seen.isCopy(said('thief', texts('b')))).toBe(false)
})
