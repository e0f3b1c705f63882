// regex: the whole answer matches a pattern. The syntax is not JavaScript's, see regex-pattern.ts. A model or a peer
// writes the text, so for any input the time is at most proportional to pattern times text (Thompson 1968). This is
// our own implementation because JavaScript's engine backtracks without bound, and RE2 for Node is a native module
// with an install script.

import { Fault, flag, oneAnswer, type Verifier } from '../verifier.ts'
import { MAX_PATTERN_CHARS, type Program, readPattern } from './regex-pattern.ts'

/** Maximum length of an answer, in code points; longer ones do not match. */
const MAX_CHARS = 1024

/** Follows all states simultaneously; each is visited at most once per character. */
export function matches(program: Program, text: string): boolean {
  if (text.length > 2 * MAX_CHARS) return false
  const points = Array.from(text, (char) => char.codePointAt(0)!)
  if (points.length > MAX_CHARS) return false
  const seenAt = new Int32Array(program.length).fill(-1)
  let current: number[] = []
  const enter = (state: number, into: number[], step: number): void => {
    const waiting = [state]
    while (waiting.length > 0) {
      const at = waiting.pop()!
      if (seenAt[at] === step) continue
      seenAt[at] = step
      const node = program[at]!
      if (node.kind === 'split') waiting.push(...node.to)
      else into.push(at)
    }
  }
  enter(0, current, 0)
  for (const [i, point] of points.entries()) {
    const next: number[] = []
    for (const at of current) {
      const node = program[at]!
      if (node.kind === 'take' && node.test(point)) enter(node.to, next, i + 1)
    }
    if (next.length === 0) return false
    current = next
  }
  return current.some((at) => program[at]!.kind === 'end')
}

export const regex: Verifier = {
  name: 'regex',
  summary:
    'The whole text matches a pattern: classes, groups, alternatives, counts; no back references, no look-around. In linear time',
  keys: ['ignore_case'],
  settings: (given) => ({ ignore_case: flag(given, 'ignore_case') }),
  key(answer, { ignore_case }) {
    const pattern = oneAnswer(answer)
    if (pattern.length > MAX_PATTERN_CHARS)
      throw new Fault(`the pattern is longer than ${MAX_PATTERN_CHARS} characters`)
    if (matches(readPattern(pattern, ignore_case === true), ''))
      throw new Fault(`the pattern "${pattern.slice(0, 40)}" matches an empty answer; ask for one character`)
    return undefined
  },
  accepts: (text, answer, { ignore_case }) =>
    matches(readPattern(oneAnswer(answer), ignore_case === true), text),
}
