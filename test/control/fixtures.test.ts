// What a node of version 1 said, kept as it was said: readers of today must still understand it. Add files here, never
// change these.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { statusText } from '../../daemon/cli/status-text.ts'
import { prometheusText } from '../../daemon/control/prometheus.ts'
import { type Event, eventText, type Groups, METRICS, type Snapshot } from '../../protocol/api/index.ts'
import { createReplay } from '../../tui/data/replay.ts'

const read = (name: string): string => readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8')
const snapshot = JSON.parse(read('snapshot.v1.json')) as Snapshot

test('a snapshot is read by status, metrics and charts', () => {
  const status = statusText(snapshot).join('\n')
  for (const words of ['step 60', 'reward 0.', '1 peers', 'trained on 120']) expect(status).toContain(words)
  expect(prometheusText(snapshot)).toContain('waggle_training_steps_total 60')
  const missing = METRICS.filter((metric) => metric.read(snapshot) === undefined).map(({ series }) => series)
  expect(missing.filter((series) => !/^(sharing_|set_aside|guards)/.test(series))).toEqual(['state_bytes'])
})

test('events are read by the log and a replay', () => {
  const lines = read('events.v1.jsonl').trim().split('\n')
  for (const line of lines) expect(eventText(JSON.parse(line) as Event)).toBeTruthy()
  const replay = createReplay(lines, { clock: () => 0 })
  replay.move(1)
  expect(replay.view().events).toHaveLength(lines.length)
  replay.close()
})

test('groups have what is looked at', () => {
  const { groups } = JSON.parse(read('groups.v1.json')) as Groups
  expect(groups[0]).toMatchObject({
    task: 'basic_arithmetic',
    rewards: expect.any(Array),
    samples: expect.any(Array),
  })
})
