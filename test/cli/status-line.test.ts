import { expect, test } from 'vitest'
import { statusLine } from '../../daemon/cli/text/status-line.ts'
import type { Snapshot } from '../../protocol/api/index.ts'
import { read } from '../docs/blocks.ts'

test('before a step a node says how many of its groups it has, or that it waits for agents', () => {
  const shown = JSON.parse(read('test/control/fixtures/snapshot.v1.json')) as Snapshot
  const agents = { listen: 'http://127.0.0.1:4290', open: 0, begun: 0, rewarded: 0, groups: 0, rows: 0 }
  const lineOf = (waiting: number, open: number, step = 0): string =>
    statusLine({
      ...{ ...shown, state: 'GENERATING', agents: { ...agents, open, dropped: {} } },
      training: { ...shown.training!, step, next: { waiting, due: 8 } },
    })
  expect(lineOf(0, 0)).toContain('waits for agents at http://127.0.0.1:4290')
  expect(lineOf(0, 3)).toContain('0 of 8 groups with a signal for the first step')
  expect(lineOf(2, 0)).toContain('2 of 8 groups with a signal for the first step')
  expect(lineOf(2, 0, 41)).toContain('2 of 8 groups with a signal for step 42')
})
