// keys_and_doors: walk from S to G through rooms with closed doors. Key `a` opens door `A`, key `b` door `B`;
// walking onto a key takes it, walking into a door with its key opens it.
//
// After MiniGrid's room tasks (DoorKey), on a grid small enough to be written out. Keys taken and doors
// opened share a reward of 0.4, and reaching G earns the rest of 1, so an episode that does not reach it
// stays below 0.5. A move against a wall or a closed door, or an answer that is not a move, changes nothing but
// uses up a turn.

import { defineEnvironment, type Task } from '../../../protocol/plugin/index.ts'
import { drawInstance } from '../draw.ts'
import { MOVES, type Move, mostTurns, readMove, shortestWay, surroundings } from './moves.ts'
import { drawRooms, instanceOf, LEVELS } from './rooms.ts'

interface Walk {
  rows: readonly string[]
  left: number
  row: number
  column: number
  /** Keys taken and doors opened, such as `aA`, in the order of the alphabet. */
  done: string
}

/** The reward that all keys and doors earn together, in thousandths. */
const PARTIAL = 400

function cell({ rows, done }: Pick<Walk, 'rows' | 'done'>, row: number, column: number): string {
  const found = rows[row]?.[column] ?? '#'
  return found === 'S' || done.includes(found) ? '.' : found
}

/** Undefined if the move changes nothing. */
function walk(from: Walk, move: Move): Walk | undefined {
  const [row, column] = [from.row + MOVES[move][0], from.column + MOVES[move][1]]
  const found = cell(from, row, column)
  if (found === '#' || ('AB'.includes(found) && !from.done.includes(found.toLowerCase()))) return undefined
  const isNew = 'abAB'.includes(found)
  return { ...from, row, column, done: isNew ? [...from.done, found].sort().join('') : from.done }
}

const keyOf = ({ row, column, done }: Walk): string => `${row + 1},${column + 1} ${done}`.trimEnd()

function begin(rows: readonly string[], left: number): Walk {
  const row = rows.findIndex((line) => line.includes('S'))
  return { rows, left, row, column: rows[row]!.indexOf('S'), done: '' }
}

const isGoal = ({ rows, row, column }: Walk): boolean => rows[row]![column] === 'G'

const task: Task = defineEnvironment<Walk>({
  name: 'keys_and_doors',
  summary: 'Walk to the goal a move at a time, with keys for the doors.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe: (index) => LEVELS[index]?.words ?? 'no such level',
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const rows = drawRooms(dice, LEVELS[index]!)
      const way = shortestWay(begin(rows, 0), { key: keyOf, step: walk, isGoal })
      if (!way || way.length < LEVELS[index]!.fewest) return null
      const subject = rows.join('\n')
      const seen = way.map(({ move, state }) => ({ move, at: keyOf(state) }))
      return { subject, instance: () => instanceOf(subject, rows, seen, mostTurns(way.length)) }
    })
  },
  environment: {
    reset({ data }) {
      const { rows, turns } = data as { rows: string[]; turns: number }
      return begin(rows, turns)
    },
    step(from, answer) {
      const move = readMove(answer)
      const to = move && walk(from, move)
      const state: Walk = { ...(to ?? from), left: from.left - 1 }
      const held = state.done.replace(/[A-Z]/g, '')
      const shown = surroundings(state.row, state.column, (row, column) => cell(state, row, column))
      const there = to !== undefined && isGoal(state)
      const parts = from.rows.join('').match(/[abAB]/g)?.length ?? 0
      const part = parts === 0 ? 0 : PARTIAL / parts
      return {
        state,
        observation: `${move ? '' : '? '}${shown}${held === '' ? '' : ` ${held}`}`,
        reward:
          (there ? 1000 - from.done.length * part : (state.done.length - from.done.length) * part) / 1000,
        done: there || state.left <= 0,
      }
    },
    key: keyOf,
  },
})

export default task
