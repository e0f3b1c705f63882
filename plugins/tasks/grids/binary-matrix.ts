// binary_matrix: for every cell of a matrix of 0s and 1s, the Manhattan distance to the nearest 0.
//
// One of the nine tasks of SAPO's controlled run; prompts, generator and scoring are our own. Some cell always has
// distance two or more, so copying the matrix is never right. An answer is right if every number is right; blanks,
// commas, brackets, a code fence and the marks that `plainAnswer` removes are ignored. Answers are never executed.

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { plainAnswer } from '../numbers.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'

interface Level {
  size: [number, number]
  /** Zeros per ten thousand cells, besides the one that is always there. */
  zeros: number
}

/** Level 3 has the sizes of SAPO's run; level 5 is its hard end. */
const LEVELS: readonly Level[] = [
  { size: [3, 3], zeros: 2500 },
  { size: [3, 4], zeros: 2500 },
  { size: [3, 6], zeros: 2500 },
  { size: [3, 10], zeros: 2500 },
  { size: [10, 15], zeros: 1500 },
  { size: [25, 25], zeros: 500 },
]

export type Matrix = number[][]

const printMatrix = (matrix: Matrix): string => matrix.map((row) => row.join(' ')).join('\n')

/** Sets of cells at distance 0, 1, 2 and so on, by breadth-first search from all zeros at once. */
function waves(matrix: Matrix): Array<Array<[number, number]>> {
  const seen = matrix.map((row) => row.map((cell) => cell === 0))
  const found = [
    matrix.flatMap((row, r) => row.flatMap((cell, c): Array<[number, number]> => (cell ? [] : [[r, c]]))),
  ]
  for (let wave = found[0]!; wave.length > 0; wave = found.at(-1)!) {
    const next: Array<[number, number]> = []
    for (const [r, c] of wave)
      for (const [nr, nc] of [
        [r - 1, c],
        [r, c - 1],
        [r, c + 1],
        [r + 1, c],
      ] as const)
        if (seen[nr]?.[nc] === false) {
          seen[nr][nc] = true
          next.push([nr, nc])
        }
    if (next.length === 0) break
    found.push(next)
  }
  return found
}

const METHOD = 'Spread out from all zeros at once: each wave is one further than the one before.'

const task = defineTask({
  name: 'binary_matrix',
  kind: 'task',
  api: 1,
  summary: 'Give the distance of every cell of a matrix to its nearest 0.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      return `${level.size[0] === level.size[1] ? level.size[0] : level.size.join(' to ')} rows and columns, ${level.zeros / 100} % zeros`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const { size, zeros } = LEVELS[index]!
      const n = dice.between(...size)
      const cells = dice.shuffle([
        0,
        ...Array.from({ length: n * n - 1 }, () => (dice.below(10_000) < zeros ? 0 : 1)),
      ])
      const matrix = Array.from({ length: n }, (_, row) => cells.slice(row * n, (row + 1) * n))
      const found = waves(matrix)
      if (found.length < 3) return null
      const subject = printMatrix(matrix)
      return {
        subject,
        instance() {
          const distances = matrix.map((row) => row.map(() => 0))
          for (const [distance, wave] of found.entries())
            for (const [r, c] of wave) distances[r]![c] = distance
          const key = printMatrix(distances)
          const question = `Distance to the nearest 0 for every cell:\n${subject}`
          const lines: Line[] = found.slice(1).map((wave, i, all) => ({
            text: `${i + 1}: ${wave.map(([r, c]) => `(${r + 1},${c + 1})`).join(' ')}`,
            from: i === all.length - 1 ? 4 : 2,
          }))
          lines.push({ text: key, value: key })
          const steps = workedSteps(question, key, METHOD, lines)
          return { question, key, steps, data: stepData(question, key) }
        },
      }
    })
  },
  verify({ key }, completion) {
    return judge(completion, (answer) => {
      const plain = plainAnswer(withoutFence(answer), 8 * key.length + 64)
      return plain !== null && rowsOf(plain) === key
    })
  },
})

export default task

function withoutFence(answer: string): string {
  return /^```\w*[\n\r]/.test(answer) && answer.endsWith('```')
    ? answer.slice(answer.search(/[\n\r]/), -3)
    : answer
}

/** Rows of integers separated by single spaces, one row per line; a bracket may end a row instead of a line break. */
function rowsOf(answer: string): string {
  const rows: string[] = []
  for (const line of answer.split(/[\n\r\]]/)) {
    const row = line.split(/[\s,[]+/).filter((cell) => cell !== '')
    if (row.length > 0) rows.push(row.join(' '))
  }
  return rows.join('\n')
}
