// choice: one of several lettered options, by letter (B, b, (B), B.) or, if the options are given, by its
// whole text, alone or after its letter. An answer that names two options is wrong.

import { plainAnswer } from '../numbers.ts'
import { MAX_TEXT_CHARS, plainText } from './plain-text.ts'
import { type Answer, Fault, oneAnswer, type Settings, type Verifier } from './verifier.ts'

const MAX = 26
const LETTER = /^\(?([A-Za-z])[).:]?$/
const LETTER_AND_TEXT = /^\(?([A-Za-z])[).:] (.+)$/
const letterOf = (index: number): string => String.fromCharCode(65 + index)
const optionsOf = (settings: Settings): readonly string[] => (settings.choices ?? []) as string[]
const same = (a: string, b: string): boolean => plainText(a, true) === plainText(b, true)

/** B, (b), **B** or \boxed{B}. */
const loneLetter = (text: string): string | undefined =>
  LETTER.exec(plainAnswer(text) ?? '')?.[1]?.toUpperCase()

/** The letter that the text means, in upper case; null if there is none or it is not an option. */
function letterIn(text: string, options: readonly string[]): string | null {
  const known = (letter: string) => options.length === 0 || letter.charCodeAt(0) - 65 < options.length
  const plain = plainText(text, false)
  const alone = loneLetter(text)
  if (alone) return known(alone) ? alone : null
  const whole = options.findIndex((option) => same(option, plain))
  if (whole >= 0) return letterOf(whole)
  const [, letter, rest] = LETTER_AND_TEXT.exec(plain) ?? []
  const index = letter === undefined ? -1 : letter.toUpperCase().charCodeAt(0) - 65
  return index >= 0 && index < options.length && same(options[index]!, rest!) ? letterOf(index) : null
}

export const choice: Verifier = {
  name: 'choice',
  summary: 'One option by its letter or, with `choices` (a list, the first is A), by its text',
  keys: ['choices'],
  settings({ choices = [] }) {
    if (!Array.isArray(choices) || choices.some((one) => typeof one !== 'string' || one.trim() === ''))
      throw new Fault('"choices" must be a list of texts, the first of which is option A')
    if (choices.length === 1 || choices.length > MAX)
      throw new Fault(`"choices" must have 2 to ${MAX} options, not ${choices.length}`)
    for (const [i, one] of (choices as string[]).entries()) {
      if (one.length > MAX_TEXT_CHARS) throw new Fault(`option ${letterOf(i)} is too long`)
      if (loneLetter(one) !== undefined)
        throw new Fault(`option ${letterOf(i)} reads like a letter itself, "${one}"; leave "choices" out`)
      const first = (choices as string[]).findIndex((other) => same(one, other))
      if (first < i) throw new Fault(`options ${letterOf(first)} and ${letterOf(i)} are the same, "${one}"`)
    }
    return { choices }
  },
  key(answer: Answer, settings) {
    const text = oneAnswer(answer)
    const letter = letterIn(text, optionsOf(settings))
    if (letter === null) {
      const known = optionsOf(settings)
      const wanted =
        known.length > 0 ? `A to ${letterOf(known.length - 1)} or the text of an option` : 'A to Z'
      throw new Fault(`"answer" must be a letter, ${wanted}, not "${text.slice(0, 40)}"`)
    }
    return letter
  },
  accepts(text, answer, settings) {
    if (text.length > MAX_TEXT_CHARS) return false
    const options = optionsOf(settings)
    return letterIn(text, options) === letterIn(oneAnswer(answer), options)
  },
}
