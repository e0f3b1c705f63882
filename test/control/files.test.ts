import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import { createJsonLines } from '../../daemon/control/journal/json-lines.ts'
import { createLogFile, redacted } from '../../daemon/control/journal/log-file.ts'
import { createRunFile, listRuns } from '../../daemon/control/journal/run-file.ts'
import type { Event } from '../../protocol/api/index.ts'
import { createReplay } from '../../tui/data/replay.ts'
import { createScriptedNode } from './scripted-node.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-files-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const linesOf = (path: string): Event[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('a full file is put aside, and a limited number is kept', async () => {
  const path = join(folder, 'deep', 'x.log')
  for (let round = 0; round < 6; round++) {
    const lines = createJsonLines({ path, maxBytes: 100, keep: 2 })
    for (let i = 0; i < 4; i++) lines.write({ round, i, text: 'x'.repeat(20) })
    await lines.close()
  }
  expect(readdirSync(join(folder, 'deep')).sort()).toEqual(['x.log', 'x.log.1', 'x.log.2'])
  expect(linesOf(path)[0]).toMatchObject({ round: 5 })
})

test('a file that cannot be written is reported once, and only lines are lost', async () => {
  writeFileSync(join(folder, 'file'), '')
  const told: unknown[] = []
  const lines = createJsonLines(
    { path: join(folder, 'file', 'x.log'), flushMs: 1 },
    { onTrouble: (e) => told.push(e) },
  )
  lines.write(1)
  await new Promise((resolve) => setTimeout(resolve, 20))
  lines.write(2)
  await lines.close()
  expect(told).toHaveLength(1)
})

test('a line that was torn, as by a full disk, costs no other', async () => {
  const path = join(folder, 'x.log')
  writeFileSync(path, '{"to')
  for (const value of [1, 2]) {
    const lines = createJsonLines({ path })
    lines.write(value)
    await lines.close()
  }
  expect(readFileSync(path, 'utf8')).toBe('{"to\n1\n2\n')
})

test.each(['logs', 'logs/x.log'])('lines go on where somebody removed %s', async (removed) => {
  const path = join(folder, 'logs', 'x.log')
  const lines = createJsonLines({ path, maxBytes: 10, flushMs: 1 })
  lines.write('first line')
  await vi.waitFor(() => expect(lines.bytes).toBeGreaterThan(0))
  rmSync(join(folder, removed), { recursive: true })
  lines.write('second line')
  await lines.close()
  expect(linesOf(path)).toEqual(['second line'])
})

test('a home that has moved does not come back at the old place', async () => {
  const lines = createJsonLines({ path: join(folder, 'home', 'logs', 'x.log'), flushMs: 1 })
  lines.write(1)
  await vi.waitFor(() => expect(lines.bytes).toBeGreaterThan(0))
  rmSync(join(folder, 'home'), { recursive: true })
  lines.write(2)
  await lines.close()
  expect(readdirSync(folder)).toEqual([])
})

test('the log has what was said before and after, without the many and without secrets', async () => {
  const events = createEventLog({}, { clock: () => 7 })
  events.emit({ type: 'state', state: 'STARTING' })
  const log = createLogFile({ path: join(folder, 'w.log') }, { events })
  events.emit({ type: 'step', step: 1, version: 1, metrics: {} })
  events.emit({
    type: 'log',
    level: 'info',
    area: 'x',
    message: 'hello',
    data: { authToken: 'abc', deep: { psk: { a: 1 }, ok: 1, tokens: 5 } },
  })
  await log.close()
  const found = linesOf(join(folder, 'w.log'))
  expect(found.map(({ type }) => type)).toEqual(['state', 'log'])
  expect(found[1]).toMatchObject({
    data: { authToken: '[removed]', deep: { psk: '[removed]', ok: 1, tokens: 5 } },
  })
  expect(redacted('x')).toBe('x')
})

test('a run is recorded, old ones are forgotten, and it plays back at any moment', async () => {
  let now = Date.UTC(2026, 10, 20)
  for (let i = 0; i < 4; i++) writeFileSync(join(folder, `2020-01-0${i + 1}T00-00-00-000Z.jsonl`), '')
  const node = createScriptedNode({ clock: () => now })
  const record = createRunFile(
    { directory: folder, keep: 3 },
    { events: node.events, snapshot: node.snapshot, clock: () => now },
  )
  for (let i = 0; i < 10; i++) {
    now += 1000
    node.advance(10)
  }
  node.emit({ type: 'eval', time: now, step: 100, version: 100, accuracy: 0.5, tasks: {}, prompts: 9 })
  await record.close()
  expect(listRuns(folder)).toHaveLength(3)
  expect(listRuns(folder)[0]).toBe(record.path)
  expect(existsSync(join(folder, '2020-01-01T00-00-00-000Z.jsonl'))).toBe(false)

  const text = `${readFileSync(record.path, 'utf8')}{"cut in ha`
  const replay = createReplay(text.split('\n'), { clock: () => 0 })
  try {
    expect(replay.view().snapshot?.training?.step).toBe(0)
    replay.move(1)
    expect(replay.view().snapshot?.training?.step).toBe(100)
    expect(replay.view().snapshot?.evaluations?.at(-1)?.accuracy).toBe(0.5)
    expect(replay.view().events.filter(({ type }) => type === 'step')).toHaveLength(100)
    expect(replay.view().series.get('reward')).toHaveLength(2)
    replay.move(-0.5)
    expect(replay.view().events.filter(({ type }) => type === 'step')).toHaveLength(50)
    expect(replay.view().snapshot?.evaluations).toBeUndefined()
    expect(replay.position()).toMatchObject({ at: now - 5000, from: now - 10_000, to: now })
  } finally {
    replay.close()
  }
})

test('an empty file, or one of other things, is an empty replay', () => {
  for (const lines of [[], ['{}', '7', 'null', 'text']]) {
    const replay = createReplay(lines, { clock: () => 0 })
    expect(replay.view().snapshot).toBeUndefined()
    replay.close()
  }
})

test('while nothing happens, nothing is recorded', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    let now = 0
    const node = createScriptedNode({ clock: () => now })
    const record = createRunFile(
      { directory: folder },
      { events: node.events, snapshot: node.snapshot, clock: () => now },
    )
    const pass = (seconds: number): void => {
      for (let i = 0; i < seconds; i++) {
        now += 1000
        vi.advanceTimersByTime(1000)
      }
    }
    pass(20)
    node.advance(1)
    pass(60)
    await record.close()
    const kinds = linesOf(record.path).filter(({ type }) => type === 'snapshot')
    // At the start, after the step, and at the end.
    expect(kinds).toHaveLength(3)
  } finally {
    vi.useRealTimers()
  }
})
