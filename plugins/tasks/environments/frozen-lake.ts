// frozen_lake: cross the ice from S to G, one move at a time, without falling into a hole.
//
// After Gymnasium's toy problem of that name, where ice may be slippery; here it never is, so that peers' episodes can
// be replayed. Start and goal can be anywhere, so no fixed path works. The move that reaches G earns 1, all others 0.
// A move off the grid, or an answer that is not a move, changes nothing but uses up a turn.

import { defineEnvironment, type Task, TURN_MARK } from '../../../protocol/plugin/index.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { drawInstance } from '../draw.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'
import { MOVES, type Move, mostTurns, readMove, shortestWay, surroundings } from './moves.ts'

/** `fewest`: minimum length of the shortest path. */
const LEVELS = [
  { size: 3, holes: 2, fewest: 2 },
  { size: 4, holes: 4, fewest: 3 },
  { size: 5, holes: 7, fewest: 4 },
  { size: 5, holes: 9, fewest: 6 },
  { size: 5, holes: 11, fewest: 8 },
] as const

interface Lake {
  rows: readonly string[]
  /** Turns left. */
  left: number
  row: number
  column: number
}

const METHOD = 'Spread out from S over the ice until G is reached, then take the way back from there.'

const cell = ({ rows }: Pick<Lake, 'rows'>, row: number, column: number): string =>
  (rows[row]?.[column] ?? '#').replace('S', '.')

const moved = <Place extends { row: number; column: number }>(from: Place, move: Move): Place => {
  const [r, c] = MOVES[move]
  return { ...from, row: from.row + r, column: from.column + c }
}

const startOf = (rows: readonly string[]): { row: number; column: number } => {
  const row = rows.findIndex((line) => line.includes('S'))
  return { row, column: rows[row]!.indexOf('S') }
}

const task: Task = defineEnvironment<Lake>({
  name: 'frozen_lake',
  summary: 'Cross the ice a move at a time, around the holes.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      return `${level.size} by ${level.size}, ${level.holes} holes, ${level.fewest} moves or more`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const { size, holes, fewest } = LEVELS[index]!
      const ice = '.'.repeat(size ** 2 - holes - 2)
      const cells = dice.shuffle([...`SG${'O'.repeat(holes)}${ice}`])
      const rows = Array.from({ length: size }, (_, row) =>
        cells.slice(row * size, (row + 1) * size).join(''),
      )
      const way = shortestWay(startOf(rows), {
        key: ({ row, column }) => `${row},${column}`,
        step(from, move) {
          const to = moved(from, move)
          return '.G'.includes(cell({ rows }, to.row, to.column)) ? to : undefined
        },
        isGoal: ({ row, column }) => rows[row]![column] === 'G',
      })
      if (!way || way.length < fewest) return null
      const subject = rows.join('\n')
      return { subject, instance: () => instanceOf(subject, rows, way) }
    })
  },
  environment: {
    reset({ data }) {
      const { rows, turns } = data as { rows: string[]; turns: number }
      return { rows, left: turns, ...startOf(rows) }
    },
    step(lake, answer) {
      const move = readMove(answer)
      const to = move && moved(lake, move)
      const found = to ? cell(lake, to.row, to.column) : '#'
      const state = { ...lake, ...(to && found !== '#' ? to : {}), left: lake.left - 1 }
      const shown = surroundings(state.row, state.column, (row, column) => cell(state, row, column))
      return {
        state,
        observation: move ? shown : `? ${shown}`,
        reward: found === 'G' ? 1 : 0,
        done: found === 'G' || found === 'O' || state.left <= 0,
      }
    },
    key: ({ row, column }) => `${row + 1},${column + 1}`,
  },
})

export default task

function instanceOf(
  subject: string,
  rows: string[],
  way: ReadonlyArray<{ move: Move; state: { row: number; column: number } }>,
): Instance {
  const question = `S to G, not O: UDLR\n${subject}`
  const key = way.map(({ move }) => move).join(TURN_MARK)
  const lines: Line[] = way.map(({ move, state: { row, column } }, i) => ({
    text: `${i + 1}. ${move} to ${row + 1},${column + 1}`,
    from: i === way.length - 1 ? 4 : 2,
  }))
  lines.push({ text: way.map(({ move }) => move).join(' '), value: key })
  const steps = workedSteps(question, key, METHOD, lines)
  return { question, key, steps, data: { ...stepData(question, key), rows, turns: mostTurns(way.length) } }
}
