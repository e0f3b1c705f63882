// Shared by grid worlds: reads a move from any answer, describes a cell's surroundings, and finds the shortest path by
// breadth-first search, which ensures that every instance is solvable and its reference solution optimal.

import { findAnswer } from '../answer.ts'

export const MOVES = { U: [-1, 0], D: [1, 0], L: [0, -1], R: [0, 1] } as const
export type Move = keyof typeof MOVES

const WORDS: Record<string, Move> = {
  u: 'U',
  d: 'D',
  l: 'L',
  r: 'R',
  up: 'U',
  down: 'D',
  left: 'L',
  right: 'R',
}

/** A letter or a word, in the answer's tags or on its last line; undefined for anything else. */
export function readMove(answer: string): Move | undefined {
  const word = findAnswer(answer).text
  if (word === null || word.length > 5) return undefined
  const lower = word.toLowerCase()
  return Object.hasOwn(WORDS, lower) ? WORDS[lower] : undefined
}

/** The current cell and its neighbours up, down, left and right; `#` beyond the edge of the grid. */
export function surroundings(
  row: number,
  column: number,
  at: (row: number, column: number) => string,
): string {
  const around = Object.values(MOVES).map(([r, c]) => at(row + r, column + c))
  return `${row + 1},${column + 1} ${around.join('')}`
}

/**
 * The shortest path from a state to a goal, as moves and the states that they lead to; undefined if there is none.
 */
export function shortestWay<State>(
  start: State,
  by: {
    key(state: State): string
    /** Undefined if the move is not possible. */
    step(state: State, move: Move): State | undefined
    isGoal(state: State): boolean
  },
): Array<{ move: Move; state: State }> | undefined {
  interface Node {
    state: State
    move?: Move
    from?: Node
  }
  const seen = new Set([by.key(start)])
  let wave: Node[] = [{ state: start }]
  while (wave.length > 0) {
    const next: Node[] = []
    for (const node of wave) {
      if (by.isGoal(node.state)) {
        const way = []
        for (let at = node; at.from; at = at.from) way.unshift({ move: at.move!, state: at.state })
        return way
      }
      for (const move of Object.keys(MOVES) as Move[]) {
        const state = by.step(node.state, move)
        if (state === undefined || seen.has(by.key(state))) continue
        seen.add(by.key(state))
        next.push({ state, move, from: node })
      }
    }
    wave = next
  }
  return undefined
}

/** Maximum number of turns, given the length of the shortest path. */
export const mostTurns = (fewest: number): number => 2 * fewest + 4
