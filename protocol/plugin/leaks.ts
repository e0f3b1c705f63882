// The shared leak check: does a text reveal an answer? It follows HiLL's rule (arXiv 2604.00698). A boxed key
// always leaks. A key of one or two characters leaks only if the text asserts it, since "7" occurs in many
// harmless sentences. A longer key leaks wherever it occurs. Added here: a number equal in value to the key also
// leaks (0.5 for 1/2, 1000 for 1,000), and an episode's answers leak if they occur in order, whatever punctuation
// is between them. Paraphrases are not detected: "half" passes for 1/2, and a hint may reveal all steps but the last.

import { TURN_MARK } from './environment/turn-mark.ts'

const ASSERTED = ['=', 'equals', 'equal to', 'is', 'answer:', 'answer is', 'result is', 'value is']
const SHORT = 2
const NUMBER = /-?\d[\d,]*(?:\.\d+)?(?:\s*\/\s*\d+)?/g

/** True if `text` reveals `key`. Always false for an empty key. */
export function leaksAnswer(key: string, text: string): boolean {
  const answer = key.trim().toLowerCase()
  if (answer === '') return false
  const said = text.toLowerCase()
  if (said.includes(`boxed{${answer}}`)) return true
  if (answer.includes(TURN_MARK)) return wordsOf(said).includes(wordsOf(answer))
  if (answer.length <= SHORT) return ASSERTED.some((words) => asserts(said, words, answer))
  if (said.includes(answer)) return true
  const value = numberIn(answer)
  return value !== undefined && (said.match(NUMBER) ?? []).some((number) => numberIn(number) === value)
}

/** Words separated by single spaces, with a space at both ends. */
function wordsOf(text: string): string {
  return ` ${text
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .join(' ')} `
}

function asserts(said: string, words: string, answer: string): boolean {
  for (let at = said.indexOf(words); at >= 0; at = said.indexOf(words, at + 1)) {
    const isWord = /\w/.test(words[0]!) && at > 0 && /\w/.test(said[at - 1]!)
    const rest = said.slice(at + words.length).trimStart()
    const next = rest[answer.length] ?? ' '
    const goesOn = /\w/.test(next) || (next === '.' && /\d/.test(rest[answer.length + 1] ?? ' '))
    if (!isWord && rest.startsWith(answer) && !goesOn) return true
  }
  return false
}

/** The value of a number or a fraction of two numbers; undefined for anything else. */
function numberIn(text: string): number | undefined {
  const parts = text.replaceAll(',', '').split('/')
  if (parts.length > 2 || !parts.every((part) => /^\s*-?\d+(\.\d+)?\s*$/.test(part))) return undefined
  const value = parts.length === 2 ? Number(parts[0]) / Number(parts[1]) : Number(parts[0])
  return Number.isFinite(value) ? value : undefined
}
