import { expect, test } from 'vitest'
import { groupsTo, meanLine, savingsTable } from '../../scripts/lab/sharing/daemons-table.ts'

const look = (nodes: number, node: number, groups: number, sampled: number, training = '') => ({
  ...{ nodes, node, training, groups, steps: groups / 10, sampled },
})
const ALONE = [look(1, 0, 100, 0.1), look(1, 0, 200, 0.16), look(1, 0, 200, 0.12), look(1, 0, 400, 0.13)]

test('own groups to an accuracy: on the straight line between the means of looks, where it is first reached', () => {
  const line = meanLine(ALONE)
  expect(line).toEqual([
    [100, 0.1],
    [200, 0.14],
    [400, 0.13],
  ])
  expect(groupsTo(0.12, line)).toBeCloseTo(150)
  expect(groupsTo(0.14, line)).toBeCloseTo(200)
  expect([groupsTo(0.05, line), groupsTo(0.15, line)]).toEqual([undefined, undefined])
})

test('what daemons save is told by runs with the same settings', () => {
  const four = [0, 1, 2, 3].map((node) => look(4, node, 50, 0.1 + 0.01 * node))
  const rows = savingsTable([...ALONE, ...four, look(4, 0, 50, 0.5, 'own_groups = 4')], '').split('\n')
  expect(rows.at(-1)).toBe('| 4 | 1 | 50 | 5 | 11.5 % | 10.0 to 13.0 | 2.8 |')
})
