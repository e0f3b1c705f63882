// Runs a grammar. A position is everything that the grammar can be at after some text: states, each with its stack of
// calls. Equal positions are one object, so what is found out about one is found out once.

import { WaggleError } from '../../../protocol/errors.ts'
import { CALL, EMPTY, type Grammar } from './grammar.ts'

export interface Position {
  /** The answer may end here. */
  readonly accepts: boolean
  /** The position after one more byte; undefined if the byte is not allowed. */
  step(byte: number): Position | undefined
}

/** Most states at a time. Patterns that can be read in ever more ways at once need more. */
const MAX_STATES = 2000
/** Positions that are remembered. */
const MAX_POSITIONS = 1024
/** Keys of a state and its stack are numbers. */
const STACKS = 2 ** 31

interface Stack {
  id: number
  /** Where it goes on after the call. */
  state: number
  parent: Stack | undefined
}

interface Place {
  state: number
  stack: Stack | undefined
}

/** The position at the start of an answer. */
export function startOf({ start, edgeAt, edges, final }: Grammar): Position {
  const stacks = new Map<string, Stack>()
  const known = new Map<string, Position>()
  let made = 0
  const push = (state: number, parent: Stack | undefined): Stack => {
    const key = `${state},${parent?.id ?? 0}`
    const old = stacks.get(key)
    if (old) return old
    made += 1
    const stack = { id: made, state, parent }
    stacks.set(key, stack)
    return stack
  }

  /** Follows the moves that read nothing. Returns the places that read a byte, by key, and whether the answer may end. */
  const closed = (from: readonly Place[]): { places: Map<number, Place>; accepts: boolean } => {
    const seen = new Set<number>()
    const places = new Map<number, Place>()
    const open = [...from]
    let accepts = false
    for (let place = open.pop(); place; place = open.pop()) {
      const { state, stack } = place
      const key = state * STACKS + (stack?.id ?? 0)
      if (seen.has(key)) continue
      if (seen.size >= MAX_STATES) throw tooMany()
      seen.add(key)
      if (final[state]) {
        if (stack) open.push({ state: stack.state, stack: stack.parent })
        else accepts = true
      }
      for (let at = edgeAt[state]!; at < edgeAt[state + 1]!; at++) {
        const [low, high, to] = [edges[3 * at]!, edges[3 * at + 1]!, edges[3 * at + 2]!]
        if (low === EMPTY) open.push({ state: to, stack })
        else if (low === CALL) open.push({ state: high, stack: push(to, stack) })
        else places.set(key, place)
      }
    }
    return { places, accepts }
  }

  const positionOf = (from: readonly Place[]): Position => {
    const { places, accepts } = closed(from)
    const name = `${[...places.keys()].sort((a, b) => a - b).join()}${accepts ? '.' : ''}`
    const old = known.get(name)
    if (old) return old
    if (known.size >= MAX_POSITIONS) {
      known.clear()
      stacks.clear()
    }
    const next: (Position | null)[] = new Array(256)
    const follow = (byte: number): Position | null => {
      const to: Place[] = []
      for (const { state, stack } of places.values())
        for (let at = edgeAt[state]!; at < edgeAt[state + 1]!; at++)
          if (edges[3 * at]! <= byte && byte <= edges[3 * at + 1]! && edges[3 * at]! >= 0)
            to.push({ state: edges[3 * at + 2]!, stack })
      return to.length > 0 ? positionOf(to) : null
    }
    const position: Position = {
      accepts,
      step(byte) {
        let found = next[byte]
        if (found === undefined) {
          found = follow(byte)
          next[byte] = found
        }
        return found ?? undefined
      },
    }
    known.set(name, position)
    return position
  }
  return positionOf([{ state: start, stack: undefined }])
}

function tooMany(): WaggleError {
  return new WaggleError(
    'E_ENGINE',
    `the form of the answer can be read in more than ${MAX_STATES} ways at once`,
    { hint: 'Simplify its pattern, or the alternatives that begin alike.' },
  )
}
