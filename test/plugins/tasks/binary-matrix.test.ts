import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/grids/binary-matrix.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, items, taskConformance } from './conformance.ts'

const matrixOf = (text: string): number[][] =>
  text
    .split('\n')
    .filter((line) => /^[\d ]+$/.test(line))
    .map((line) => line.split(' ').map(Number))

/** Two sweeps, from the top left and from the bottom right; the generator searches breadth first. */
function solve(question: string): string {
  const distance = matrixOf(question).map((row) => row.map((cell): number => (cell === 0 ? 0 : 1e9)))
  const n = distance.length
  const relax = (r: number, c: number, fromR: number, fromC: number): void => {
    const other = distance[fromR]?.[fromC]
    if (other !== undefined) distance[r]![c] = Math.min(distance[r]![c]!, other + 1)
  }
  for (let r = 0; r < n; r++)
    for (let c = 0; c < n; c++) {
      relax(r, c, r - 1, c)
      relax(r, c, r, c - 1)
    }
  for (let r = n - 1; r >= 0; r--)
    for (let c = n - 1; c >= 0; c--) {
      relax(r, c, r + 1, c)
      relax(r, c, r, c + 1)
    }
  return distance.map((row) => row.join(' ')).join('\n')
}

const printed = (rows: number[][]): string => rows.map((row) => row.join(' ')).join('\n')

taskConformance(task, {
  solve,
  baselines: {
    'the question': (question) => question,
    'the matrix': (question) => printed(matrixOf(question)),
    zeros: (question) => printed(matrixOf(question).map((row) => row.map(() => 0))),
    twos: (question) => printed(matrixOf(question).map((row) => row.map((cell) => 2 * cell))),
  },
  equations: 0,
  costly: [4, 5],
})

const small: Instance = { question: '', key: '1 2\n0 1', steps: [] }

describe('binary_matrix', () => {
  it.each([
    '1 2\n0 1',
    '1 2 \r\n0  1\n',
    '1,2\n0,1',
    '[[1,2],[0,1]]',
    '[1, 2]\n[0, 1]',
    '```\n1 2\n0 1\n```',
    '```text\n1 2\n0 1\n```',
    '$$1 2\n0 1$$',
    '**1 2\n0 1**',
    '\\boxed{1 2\n0 1}',
    '1 2\n0 1.',
    '\uff11 \uff12\n\uff10 \uff11',
  ])('takes %j', (answer) => {
    expect(task.verify(small, inTags(answer)).score).toBe(1)
  })

  it.each(['1 1\n0 1', '1 2 0 1', '1 2\n0', '1 2\n0 1\n1 2', '12\n01', '1 2\n0 1 x', '', '[]', '1.0 2\n0 1'])(
    'does not take %j',
    (answer) => {
      expect(task.verify(small, inTags(answer)).score).toBe(0)
    },
  )

  it('lists every cell once, in the wave of its distance', () => {
    for (const { key, steps } of items(task, 20)) {
      const rows = matrixOf(key)
      const seen = new Set<string>()
      for (const { text, aside } of steps.slice(1, -1)) {
        if (aside) continue
        const [distance, cells] = text.split(': ')
        for (const [, r, c] of cells!.matchAll(/\((\d+),(\d+)\)/g)) {
          expect(rows[Number(r) - 1]![Number(c) - 1]).toBe(Number(distance))
          seen.add(`${r},${c}`)
        }
      }
      expect(seen.size).toBe(rows.flat().filter((distance) => distance > 0).length)
    }
  })
})
