// What a node of version 1 said, kept as it was said: readers of today must still understand it. Add files here, never
// change these.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { statusText } from '../../daemon/cli/text/status-text.ts'
import { createClient } from '../../daemon/control/api/client.ts'
import { prometheusText } from '../../daemon/control/api/prometheus.ts'
import { startControlServer } from '../../daemon/control/api/server.ts'
import {
  COMMANDS,
  type Event,
  type EventType,
  eventLevel,
  eventText,
  type Groups,
  LOG_LEVELS,
  METRICS,
  type Snapshot,
} from '../../protocol/api/index.ts'
import { createReplay } from '../../tui/data/replay.ts'
import { createScriptedNode, OTHER } from './scripted-node.ts'

const read = (name: string): string => readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8')
const snapshot = JSON.parse(read('snapshot.v1.json')) as Snapshot

test('a snapshot is read by status, metrics and charts', () => {
  const status = statusText(snapshot).join('\n')
  for (const words of ['step 60', 'reward 0.', '1 peer', 'trained on 120']) expect(status).toContain(words)
  expect(prometheusText(snapshot)).toContain('waggle_training_steps_total 60')
  const doing = ['sorting from peer/a: 60 %, own 10 %; weight 1.00']
  const plugins: Snapshot['plugins'] = [{ kind: 'correction', name: 'teachers', state: 'ok', doing }]
  expect(statusText({ ...snapshot, plugins })).toContain(`teachers   ${doing[0]}`)
  const missing = METRICS.filter((metric) => metric.read(snapshot) === undefined).map(({ series }) => series)
  expect(
    missing.filter(
      (series) =>
        !/^(weights_|sharing_|trained_|taught_|agents_|serving_|set_aside|guards|dropped_texts)/.test(series),
    ),
  ).toEqual([
    'held_back',
    'cpu_seconds',
    'state_bytes',
    'sampled_tokens',
    'network_month_bytes',
    'audits_seconds',
  ])
})

test('groups have what is looked at', () => {
  const { groups } = JSON.parse(read('groups.v1.json')) as Groups
  expect(groups[0]).toMatchObject({
    task: 'basic_arithmetic',
    rewards: expect.any(Array),
    samples: expect.any(Array),
  })
})

/** Every type there is; one that is added without a line in the fixtures does not compile, or fails below. */
const TYPES: Record<EventType, true> = {
  state: true,
  step: true,
  eval: true,
  group: true,
  refused: true,
  peer: true,
  checkpoint: true,
  alert: true,
  sharing: true,
  guard: true,
  plugin: true,
  log: true,
  gap: true,
  snapshot: true,
}

test('there is an event of each type, which the log, a replay and the screen take', () => {
  const lines = read('events-all.v1.jsonl').trim().split('\n')
  const events = lines.map((line) => JSON.parse(line) as Event)
  expect(events.map(({ type }) => type).sort()).toEqual(Object.keys(TYPES).sort())
  for (const event of events) {
    expect(LOG_LEVELS).toContain(eventLevel(event))
    if (event.type !== 'snapshot') expect(eventText(event)).toMatch(/\S/)
  }
  const replay = createReplay(lines, { clock: () => 0 })
  replay.move(1)
  expect(replay.view()).toMatchObject({ snapshot: { state: 'PAUSED' } })
  expect(replay.view().events).toHaveLength(events.length - 1)
  replay.close()
})

const answers = JSON.parse(read('answers.v1.json')) as Record<string, object> & {
  commands: Record<string, object>
}
const kinds = (value: object) =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, typeof inner]))

test('there is an answer to every command, and a node of today still gives all of it', async () => {
  expect(Object.keys(answers.commands).sort()).toEqual([...COMMANDS].sort())
  const folder = mkdtempSync(join(tmpdir(), 'waggle-fixtures-'))
  const node = createScriptedNode()
  const server = await startControlServer({ socket: join(folder, 's'), run: 'r1' }, { node, clock: Date.now })
  const client = createClient({ socket: join(folder, 's') })
  try {
    expect(kinds(await client.health())).toMatchObject(kinds(answers.health!))
    expect(kinds(await client.series({ name: 'reward' }))).toMatchObject(kinds(answers.series!))
    const settings = { 'training.learning_rate': '3e-4' }
    const given = {
      join: await client.send('join', { target: OTHER }),
      invite: await client.send('invite', {}),
      leave: await client.send('leave', {}),
      share: await client.send('share', { path: '/x' }),
      fetch: await client.send('fetch', { source: 'x/y', path: '/z' }),
      pause: await client.send('pause', {}),
      resume: await client.send('resume', {}),
      eval: await client.send('eval', {}),
      audit: await client.send('audit', {}),
      checkpoint: await client.send('checkpoint', {}),
      conversations: await client.send('conversations', {}),
      reconfigure: await client.send('reconfigure', { settings }),
      mute: await client.send('mute', { peer: OTHER, on: true }),
    }
    for (const [name, answer] of Object.entries(given))
      expect([name, kinds(answer)]).toMatchObject([name, kinds(answers.commands[name]!)])
    const refusal = await client.send('join', { target: 'x' }).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: (answers.error as { code: string }).code })
  } finally {
    await server.close()
    rmSync(folder, { recursive: true })
  }
})

test('a snapshot with as many peers, alerts and evaluations as there may be stays within 64 KB', () => {
  const node = createScriptedNode()
  node.advance(5000)
  const full = node.snapshot()
  const [peer] = full.swarm!.peers
  full.swarm!.peers = Array.from({ length: 64 }, () => ({
    ...peer!,
    address: `/ip4/192.0.2.7/tcp/4001/p2p/${OTHER}`,
  }))
  expect(full.training?.rewardSeries).toHaveLength(240)
  expect(JSON.stringify(full).length).toBeLessThan(64 * 1024)
})
