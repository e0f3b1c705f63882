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
