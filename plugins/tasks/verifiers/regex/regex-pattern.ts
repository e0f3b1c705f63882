// Compiles true regular expressions to a state machine: characters, escapes, ., [classes], (groups), |, * + ?
// {m} {m,} {m,n}. What needs backtracking (back references, look-around) or has no meaning here (anchors,
// since the whole answer is matched; lazy quantifiers; captures) is rejected with its position.

import { Fault } from '../verifier.ts'
import { type CharTest, readClass, readEscape, remembered } from './regex-class.ts'

export const MAX_PATTERN_CHARS = 512
const MAX_STATES = 512
/** Repeating parts that create no state, as in (){256}, costs time too. */
const MAX_BUILDS = 8192
const MAX_REPEAT = 256
const MAX_DEPTH = 32

export type State =
  | { kind: 'take'; test: CharTest; to: number }
  | { kind: 'split'; to: number[] }
  | { kind: 'end' }
export type Program = State[]

type Tree =
  | { kind: 'take'; test: CharTest }
  | { kind: 'all'; of: Tree[] }
  | { kind: 'any'; of: Tree[] }
  | { kind: 'repeat'; of: Tree; least: number; most: number }

/** State 0 is the start. Throws Fault. */
export function readPattern(pattern: string, ignoreCase: boolean): Program {
  const chars = Array.from(pattern)
  let at = 0
  const fault = (what: string): Fault => new Fault(`pattern, character ${at + 1}: ${what}`)

  const alternatives = (depth: number): Tree => {
    if (depth > MAX_DEPTH) throw fault(`groups are nested more than ${MAX_DEPTH} deep`)
    const of = [sequence(depth)]
    while (chars[at] === '|') {
      at++
      of.push(sequence(depth))
    }
    return of.length === 1 ? of[0]! : { kind: 'any', of }
  }
  const sequence = (depth: number): Tree => {
    const of: Tree[] = []
    while (at < chars.length && chars[at] !== '|' && chars[at] !== ')') of.push(repeated(atom(depth)))
    return { kind: 'all', of }
  }
  const atom = (depth: number): Tree => {
    const char = chars[at]!
    if ('*+?{'.includes(char))
      throw fault(`"${char}" has nothing before it to repeat; write \\${char} for itself`)
    if (char === '^' || char === '$') throw fault(`leave "${char}" out: the whole answer is matched anyway`)
    if (char === '(') {
      if (chars[at + 1] === '?') {
        if (chars[at + 2] !== ':')
          throw fault('of the (? groups there is only (?:…); look-around is not there')
        at += 2
      }
      at++
      const inner = alternatives(depth + 1)
      if (chars[at] !== ')') throw fault('a ")" is missing')
      at++
      return inner
    }
    let read: { test: CharTest; next: number }
    if (char === '[') read = readClass(chars, at, ignoreCase, fault)
    else if (char === '\\') read = readEscape(chars, at, ignoreCase, fault)
    else if (char === '.') read = { test: (point) => point !== 10, next: at + 1 }
    else read = { test: literal(char, ignoreCase), next: at + 1 }
    at = read.next
    return { kind: 'take', test: read.test }
  }
  const repeated = (of: Tree): Tree => {
    const [least, most] = bounds() ?? [1, 1]
    if (chars[at] !== undefined && '*+?{'.includes(chars[at]!))
      throw fault('two repetitions in a row; put a group around the first')
    return least === 1 && most === 1 ? of : { kind: 'repeat', of, least, most }
  }
  const bounds = (): [number, number] | undefined => {
    const sign = chars[at]
    const known = ({ '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] } as const)[sign as '*' | '+' | '?']
    if (known) {
      at++
      return [...known]
    }
    if (sign !== '{') return undefined
    const counted = /^\{(\d{1,3})(,(\d{1,3})?)?\}/.exec(chars.slice(at, at + 9).join(''))
    if (!counted) throw fault('after "{" must come a count such as {3}, {2,} or {2,5}; write \\{ for itself')
    const least = Number(counted[1])
    const most = counted[2] === undefined ? least : counted[3] === undefined ? Infinity : Number(counted[3])
    if (least > most || Math.max(least, most === Infinity ? 0 : most) > MAX_REPEAT)
      throw fault(`counts go up to ${MAX_REPEAT}, the lower one first`)
    at += counted[0].length
    return [least, most]
  }

  const tree = alternatives(0)
  if (at < chars.length) throw fault('this ")" closes nothing; write \\) for itself')
  return compile(tree)
}

function literal(char: string, ignoreCase: boolean): CharTest {
  const point = char.codePointAt(0)!
  if (!ignoreCase) return (given) => given === point
  const folded = char.toLowerCase()
  return remembered((given) => given === point || String.fromCodePoint(given).toLowerCase() === folded)
}

/** Compiles from the end backwards: each part gets the state that follows it. */
function compile(tree: Tree): Program {
  const states: Program = [{ kind: 'split', to: [] }, { kind: 'end' }]
  const add = (state: State): number => {
    if (states.length >= MAX_STATES)
      throw new Fault(`the pattern has more than ${MAX_STATES} states; repeat less, or shorter parts`)
    return states.push(state) - 1
  }
  let builds = 0
  const build = (part: Tree, after: number): number => {
    if (++builds > MAX_BUILDS) throw new Fault('the pattern repeats too much; repeat less')
    if (part.kind === 'take') return add({ kind: 'take', test: part.test, to: after })
    if (part.kind === 'all') return part.of.reduceRight((next, one) => build(one, next), after)
    if (part.kind === 'any') return add({ kind: 'split', to: part.of.map((one) => build(one, after)) })
    let entry = after
    if (part.most === Infinity) {
      const loop: State = { kind: 'split', to: [after] }
      entry = add(loop)
      loop.to.push(build(part.of, entry))
    } else
      for (let i = part.least; i < part.most; i++)
        entry = add({ kind: 'split', to: [after, build(part.of, entry)] })
    for (let i = 0; i < part.least; i++) entry = build(part.of, entry)
    return entry
  }
  ;(states[0] as { to: number[] }).to.push(build(tree, 1))
  return states
}
