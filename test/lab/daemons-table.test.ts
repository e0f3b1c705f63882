import { expect, test } from 'vitest'
import { groupsTo, meanLine, savingsTable } from '../../scripts/lab/sharing/daemons-table.ts'

const run = (arm: string, looks: [node: number, groups: number, sampled: number][], rate = 1e-4) => ({
  ...{ arm, rate },
  looks: looks.map(([node, groups, sampled]) => ({
    ...{ node, groups, sampled, steps: groups / 10 },
    ...{ seconds: 1, own: groups, foreign: 0 },
  })),
})
const ALONE = [
  run('1', [
    [0, 100, 0.1],
    [0, 200, 0.16],
    [0, 400, 0.13],
  ]),
  run('1', [[0, 200, 0.12]]),
]

test('own groups to an accuracy: on the straight line between the means of looks, where it is first reached', () => {
  const line = meanLine(ALONE.flatMap(({ looks }) => looks))
  expect(line).toEqual([
    [100, 0.1],
    [200, 0.14],
    [400, 0.13],
  ])
  expect(groupsTo(0.12, line)).toBeCloseTo(150)
  expect(groupsTo(0.14, line)).toBeCloseTo(200)
  expect([groupsTo(0.05, line), groupsTo(0.15, line)]).toEqual([undefined, undefined])
})

test('what daemons save is told beside a daemon alone at the same rate', () => {
  const four = run(
    '4',
    [0, 1, 2, 3].map((node) => [node, 50, 0.1 + 0.01 * node]),
  )
  const rows = savingsTable([run('1', [[0, 50, 0.5]], 1e-3), ...ALONE, four]).split('\n')
  expect(rows.at(-1)).toBe('| 4 | 0.0001 | 1 | 50 | 5 | 11.5 % | 10.0 to 13.0 | 2.8 |')
})
