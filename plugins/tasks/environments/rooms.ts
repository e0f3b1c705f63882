// Adjacent rooms separated by walls with doors, for keys_and_doors: draws them and builds their instances.

import { TURN_MARK } from '../../../protocol/plugin/index.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import type { Dice } from '../random.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'
import type { Move } from './moves.ts'

export interface Level {
  /** Columns of each room. */
  rooms: readonly number[]
  height: number
  /** Walls inside the rooms. */
  walls: number
  /** Minimum length of the shortest path. */
  fewest: number
  words: string
}

export const LEVELS: readonly Level[] = [
  { rooms: [1, 1], height: 3, walls: 0, fewest: 3, words: '3 by 3, a door' },
  { rooms: [2, 2], height: 3, walls: 1, fewest: 5, words: '3 by 5, a door' },
  { rooms: [2, 2], height: 5, walls: 4, fewest: 7, words: '5 by 5, a door, walls' },
  { rooms: [1, 1, 1], height: 4, walls: 0, fewest: 7, words: '4 by 5, two doors' },
  { rooms: [2, 1, 1], height: 5, walls: 2, fewest: 10, words: '5 by 6, two doors, walls' },
]

/** Draws rooms, rotated and mirrored at random. Not every drawn instance can be solved. */
export function drawRooms(dice: Dice, { rooms, height, walls }: Level): string[] {
  const cells: string[][] = Array.from({ length: height }, () => [])
  const free: [row: number, column: number][][] = []
  for (const [room, width] of rooms.entries()) {
    if (room > 0) {
      const door = dice.below(height)
      for (const [r, row] of cells.entries()) row.push(r === door ? 'AB'[room - 1]! : '#')
    }
    const places: [number, number][] = []
    for (let c = 0; c < width; c++)
      for (const [r, row] of cells.entries()) places.push([r, row.push('.') - 1])
    free.push(dice.shuffle(places))
  }
  const put = (room: number, what: string): void => {
    const place = free[room]!.pop()
    if (place) cells[place[0]]![place[1]] = what
  }
  put(0, 'S')
  put(rooms.length - 1, 'G')
  // A door's key is in a room before it.
  for (let door = 0; door < rooms.length - 1; door++) put(dice.below(door + 1), 'ab'[door]!)
  for (let i = 0; i < walls; i++) put(dice.below(rooms.length), '#')
  let grid = cells
  if (dice.oneIn(2)) grid = grid.map((row) => [...row].reverse())
  if (dice.oneIn(2)) grid = [...grid].reverse()
  if (dice.oneIn(2)) grid = grid[0]!.map((_, c) => grid.map((row) => row[c]!))
  return grid.map((row) => row.join(''))
}

const METHOD = 'Fetch the keys on the shortest way, open the doors with them, and go on to G.'

/** `way`: the shortest path, as moves with the cell that each leads to and the keys and doors so far. */
export function instanceOf(
  subject: string,
  rows: string[],
  way: ReadonlyArray<{ move: Move; at: string }>,
  turns: number,
): Instance {
  const question = `S to G, a for A: UDLR\n${subject}`
  const moves = way.map(({ move }) => move)
  const key = moves.join(TURN_MARK)
  const lines: Line[] = way.map(({ move, at }, i) => ({
    text: `${i + 1}. ${move} to ${at}`,
    from: i === way.length - 1 ? 4 : 2,
  }))
  lines.push({ text: moves.join(' '), value: key })
  const steps = workedSteps(question, key, METHOD, lines)
  return { question, key, steps, data: { ...stepData(question, key), rows, turns } }
}
