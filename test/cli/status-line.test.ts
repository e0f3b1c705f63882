import { expect, test } from 'vitest'
import { statusLine } from '../../daemon/cli/text/status-line.ts'
import type { Snapshot } from '../../protocol/api/index.ts'
import { read } from '../docs/blocks.ts'

test('before the first step a node says how many groups it has, or that it waits for agents', () => {
  const shown = JSON.parse(read('test/control/fixtures/snapshot.v1.json')) as Snapshot
  const agents = { listen: 'http://127.0.0.1:4290', open: 0, begun: 0, rewarded: 0, groups: 0, rows: 0 }
  const lineOf = (generated: number, open: number): string =>
    statusLine({
      ...{ ...shown, state: 'GENERATING', agents: { ...agents, open, dropped: {} } },
      rollouts: { ...shown.rollouts!, generated },
    })
  expect(lineOf(0, 0)).toContain('waits for agents at http://127.0.0.1:4290')
  expect(lineOf(0, 3)).toContain('0 groups written for the first step')
  expect(lineOf(2, 0)).toContain('2 groups written for the first step')
})
