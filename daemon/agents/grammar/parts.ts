// Builds grammars. A part says what may stand between two states; parts are put together to larger ones.

import { createHash } from 'node:crypto'
import { CALL, EMPTY, type Grammar } from '../../engine/grammar/grammar.ts'
import { invalid } from '../errors.ts'

/** Adds states and moves by which one can get from the first state to the second. */
export type Part = (build: Builder, from: number, to: number) => void

export interface Builder {
  state(): number
  bytes(from: number, low: number, high: number, to: number): void
  empty(from: number, to: number): void
  call(from: number, rule: Rule, to: number): void
}

/** A part with a name, which is built once and may contain itself. */
export interface Rule {
  part: () => Part
}

type Range = readonly [low: number, high: number]

const MAX_STATES = 60_000

export const nothing: Part = (build, from, to) => build.empty(from, to)

/** No text at all, not even the empty one. */
export const never: Part = () => {}

export function text(said: string): Part {
  return sequence(...[...Buffer.from(said)].map((byte) => bytes(byte, byte)))
}

/** One of these texts. Those that begin alike share their beginning. */
export function oneOf(texts: readonly string[]): Part {
  const all = texts.map((one) => [...Buffer.from(one)])
  return (build, from, to) => {
    const known = new Map<string, number>([['', from]])
    for (const one of all) {
      let [at, path] = [from, '']
      for (const byte of one) {
        path += `${byte},`
        const next = known.get(path) ?? build.state()
        if (!known.has(path)) build.bytes(at, byte, byte, next)
        known.set(path, next)
        at = next
      }
      build.empty(at, to)
    }
  }
}

function bytes(low: number, high: number): Part {
  return (build, from, to) => build.bytes(from, low, high, to)
}

export function sequence(...parts: readonly Part[]): Part {
  if (parts.length === 0) return nothing
  return (build, from, to) => {
    let at = from
    for (const [i, part] of parts.entries()) {
      const next = i === parts.length - 1 ? to : build.state()
      part(build, at, next)
      at = next
    }
  }
}

export function either(...parts: readonly Part[]): Part {
  return (build, from, to) => {
    for (const part of parts) {
      // A part of its own may return to where it began.
      const [start, end] = [build.state(), build.state()]
      build.empty(from, start)
      part(build, start, end)
      build.empty(end, to)
    }
  }
}

export function optional(part: Part): Part {
  return either(nothing, part)
}

/** From `least` up to `most` times, which may be infinite. */
export function repeated(part: Part, least: number, most: number): Part {
  return (build, from, to) => {
    let at = from
    for (let i = 0; i < least; i++) {
      const next = build.state()
      part(build, at, next)
      at = next
    }
    if (most === Number.POSITIVE_INFINITY) {
      const [loop, end] = [build.state(), build.state()]
      build.empty(at, loop)
      part(build, loop, end)
      build.empty(end, loop)
      build.empty(loop, to)
      return
    }
    for (let i = least; i < most; i++) {
      build.empty(at, to)
      const next = build.state()
      part(build, at, next)
      at = next
    }
    build.empty(at, to)
  }
}

export function call(rule: Rule): Part {
  return (build, from, to) => build.call(from, rule, to)
}

/** One character of these ranges of code points, in UTF-8. */
export function characters(ranges: readonly Range[]): Part {
  const encoded = ranges.flatMap(([low, high]) => utf8Ranges(low, high))
  return (build, from, to) => {
    for (const one of encoded) sequence(...one.map(([low, high]) => bytes(low, high)))(build, from, to)
  }
}

/** Last code points of 1, 2, 3 and 4 bytes. */
const LAST = [0x7f, 0x7ff, 0xffff, 0x10ffff]
const SURROGATES: Range = [0xd800, 0xdfff]

/** A range of code points as ranges of bytes, one after another. Surrogates are no characters. */
export function utf8Ranges(low: number, high: number): Range[][] {
  if (low > high) return []
  if (low <= SURROGATES[1] && high >= SURROGATES[0])
    return [...utf8Ranges(low, SURROGATES[0] - 1), ...utf8Ranges(SURROGATES[1] + 1, high)]
  const last = LAST.find((end) => low <= end)!
  if (high > last) return [...utf8Ranges(low, last), ...utf8Ranges(last + 1, high)]
  return split([...Buffer.from(String.fromCodePoint(low))], [...Buffer.from(String.fromCodePoint(high))])
}

/** All sequences of bytes from one to the other, of the same length. */
function split(low: readonly number[], high: readonly number[]): Range[][] {
  const [first, last] = [low[0]!, high[0]!]
  if (low.length === 1) return [[[first, last]]]
  const [restLow, restHigh] = [low.slice(1), high.slice(1)]
  const [least, most] = [restLow.map(() => 0x80), restHigh.map(() => 0xbf)]
  const under = (byte: number, from: readonly number[], to: readonly number[]): Range[][] =>
    split(from, to).map((rest): Range[] => [[byte, byte], ...rest])
  if (first === last) return under(first, restLow, restHigh)
  const isWhole = (rest: readonly number[], bound: readonly number[]) =>
    rest.every((byte, i) => byte === bound[i])
  const [cutLow, cutHigh] = [!isWhole(restLow, least), !isWhole(restHigh, most)]
  const [from, to] = [cutLow ? first + 1 : first, cutHigh ? last - 1 : last]
  const middle: Range[][] = from <= to ? [[[from, to], ...least.map((): Range => [0x80, 0xbf])]] : []
  return [
    ...(cutLow ? under(first, restLow, most) : []),
    ...middle,
    ...(cutHigh ? under(last, least, restHigh) : []),
  ]
}

interface Edge {
  low: number
  high: number
  to: number
}

/** Throws 400 if nothing fits, if it is too large, or if a rule may begin with itself. */
export function grammarOf(part: Part): Grammar {
  const moves: Edge[][] = []
  const ruleOf = new Map<Rule, { start: number; end: number }>()
  const open: (() => void)[] = []
  const build: Builder = {
    state() {
      if (moves.length >= MAX_STATES)
        throw invalid(
          'the form of the answer is too large',
          'Allow fewer repetitions, or fewer alternatives.',
        )
      return moves.push([]) - 1
    },
    bytes: (from, low, high, to) => void moves[from]!.push({ low, high, to }),
    empty: (from, to) => void moves[from]!.push({ low: EMPTY, high: 0, to }),
    call(from, rule, to) {
      let known = ruleOf.get(rule)
      if (!known) {
        const made = { start: build.state(), end: build.state() }
        known = made
        ruleOf.set(rule, made)
        open.push(() => rule.part()(build, made.start, made.end))
      }
      moves[from]!.push({ low: CALL, high: known.start, to })
    },
  }
  const [start, end] = [build.state(), build.state()]
  part(build, start, end)
  for (let next = open.pop(); next; next = open.pop()) next()
  const rules = new Map([...ruleOf.values()].map((one) => [one.start, one.end]))
  const ends = new Set([end, ...rules.values()])
  const kept = productive(moves, ends)
  if (!kept.has(start)) throw invalid('no answer fits the form that is asked for')
  requireProgress(moves, { kept, rules })
  return tablesOf(moves, { start, ends, kept })
}

type Moves = readonly (readonly Edge[])[]

/** The states from which the end of their rule can be reached. */
function productive(moves: Moves, ends: ReadonlySet<number>): Set<number> {
  const kept = new Set(ends)
  const before: number[][] = moves.map(() => [])
  /** Moves that call a rule wait both for where the rule begins and for where it goes on after the call. */
  const waiting: { from: number; needs: number[] }[][] = moves.map(() => [])
  for (const [from, edges] of moves.entries())
    for (const { low, high, to } of edges)
      if (low !== CALL) before[to]!.push(from)
      else for (const state of [high, to]) waiting[state]!.push({ from, needs: [high, to] })
  const open = [...ends]
  const keep = (state: number): void => {
    if (kept.has(state)) return
    kept.add(state)
    open.push(state)
  }
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    for (const from of before[state]!) keep(from)
    for (const { from, needs } of waiting[state]!) if (needs.every((one) => kept.has(one))) keep(from)
  }
  return kept
}

/** Throws if a rule may call itself before it has read anything: it could do so without end. */
function requireProgress(
  moves: Moves,
  { kept, rules }: { kept: ReadonlySet<number>; rules: ReadonlyMap<number, number> },
): void {
  const nullable = new Set<number>()
  const reach = (start: number): { calls: Set<number>; states: Set<number> } => {
    const [states, calls] = [new Set([start]), new Set<number>()]
    for (const state of states)
      for (const { low, high, to } of moves[state]!) {
        if (low === CALL) calls.add(high)
        if (low === EMPTY || (low === CALL && nullable.has(high))) states.add(to)
      }
    return { calls, states }
  }
  for (let found = -1; found !== nullable.size; ) {
    found = nullable.size
    for (const [start, end] of rules) if (reach(start).states.has(end)) nullable.add(start)
  }
  for (const rule of rules.keys()) {
    if (!kept.has(rule)) continue
    const below = new Set([...reach(rule).calls])
    for (const one of below) for (const further of reach(one).calls) below.add(further)
    if (below.has(rule))
      throw invalid('the form of the answer refers to itself without reading anything in between')
  }
}

function tablesOf(
  moves: Moves,
  { start, ends, kept }: { start: number; ends: ReadonlySet<number>; kept: ReadonlySet<number> },
): Grammar {
  const isKept = ({ low, high, to }: Edge): boolean => kept.has(to) && (low !== CALL || kept.has(high))
  const numbers = new Map([[start, 0]])
  const numberOf = (state: number): number => {
    const known = numbers.get(state)
    if (known !== undefined) return known
    numbers.set(state, numbers.size)
    return numbers.size - 1
  }
  const [edgeAt, edges, final]: number[][] = [[0], [], []]
  // States are numbered as they are found, and the map goes on through those that are added to it.
  for (const [state] of numbers) {
    for (const edge of moves[state]!.filter(isKept)) {
      const high = edge.low === CALL ? numberOf(edge.high) : edge.high
      edges!.push(edge.low, high, numberOf(edge.to))
    }
    edgeAt!.push(edges!.length / 3)
    final!.push(ends.has(state) ? 1 : 0)
  }
  const tables = {
    start: 0,
    edgeAt: Int32Array.from(edgeAt!),
    edges: Int32Array.from(edges!),
    final: Uint8Array.from(final!),
  }
  const hash = createHash('sha256')
  for (const table of [tables.edgeAt, tables.edges, tables.final]) hash.update(new Uint8Array(table.buffer))
  return { key: hash.digest('hex'), ...tables }
}
