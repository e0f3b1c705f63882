// TensorBoard's event files: the same bytes as TensorFlow's own protobuf gives, whole records after anything that can
// happen to a disk, and steps that continue.

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import {
  evaluationScalars,
  framed,
  openTensorBoard,
  scalarEvent,
  startEvent,
  stepScalars,
  versionEvent,
} from '../../daemon/control/journal/tensorboard.ts'
import { readEvents } from './event-files.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-tensorboard-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function run(firstStep: number, steps: number[], { directory = folder, writer = 'host.1' } = {}) {
  const trouble: unknown[] = []
  const clock = () => 1_000_000 + firstStep * 1000
  const events = createEventLog({}, { clock })
  const sink = await openTensorBoard(
    { directory, firstStep, writer },
    { events, clock, onTrouble: (error) => trouble.push(error) },
  )
  for (const step of steps)
    events.emit({ type: 'step', step, version: step, metrics: { reward: step / 10, 'clip.low': 1 } })
  await sink.close()
  return { trouble, events }
}

test('events are the bytes that TensorFlow writes for them', () => {
  const ours = [
    versionEvent(1000),
    startEvent(1000, 1),
    scalarEvent(1000.25, 300, { ...stepScalars({ reward: 0.5, 'clip.clip_low': -1.25 }) }),
  ]
  const theirs = readFileSync(join(import.meta.dirname, 'fixtures/events.tfevents'))
  expect(Buffer.concat(ours.map(framed)).equals(theirs)).toBe(true)
})

test('steps and evaluations are scalars under names that group them', async () => {
  expect(stepScalars({ reward: 1, 'clip.clip.low': 2 })).toEqual({ 'train/reward': 1, 'clip/clip.low': 2 })
  const evaluation = { time: 0, step: 1, version: 1, accuracy: 0.5, tasks: { sums: 0.5 }, prompts: 4 }
  expect(evaluationScalars({ ...evaluation, greedy: { accuracy: 1, tasks: { sums: 1 } } })).toEqual({
    'eval/accuracy': 0.5,
    'eval/sums': 0.5,
    'eval/accuracy_greedy': 1,
    'eval/sums_greedy': 1,
  })
  await run(1, [1, 2])
  expect(readEvents(folder)).toEqual([
    { version: 'brain.Event:2' },
    { step: 1, start: true },
    { step: 1, scalars: { 'train/reward': expect.closeTo(0.1), 'clip/low': 1 } },
    { step: 2, scalars: { 'train/reward': expect.closeTo(0.2), 'clip/low': 1 } },
  ])
})

test('a restart writes another file and says where it goes on, as a roll-back does', async () => {
  await run(1, [1, 2, 3])
  // Killed in the middle of a record: the next run is not harmed by it.
  const [first] = readdirSync(folder)
  truncateSync(join(folder, first!), readFileSync(join(folder, first!)).length - 5)
  await run(3, [3, 4, 5, 4, 5], { writer: 'host.2' })
  const starts = readEvents(folder).filter(({ start }) => start)
  expect(starts.map(({ step }) => step)).toEqual([1, 3, 4])
  expect(readEvents(folder).flatMap(({ step, scalars }) => (scalars ? [step] : []))).toEqual([
    1, 2, 3, 4, 5, 4, 5,
  ])
})

test('a folder that cannot be written is reported once, and later writes are complete', async () => {
  const blocked = join(folder, 'runs')
  writeFileSync(blocked, 'a file')
  const { trouble } = await run(1, [1, 2], { directory: blocked })
  expect(trouble).toHaveLength(1)
  rmSync(blocked)
  mkdirSync(blocked)
  expect((await run(3, [3], { directory: blocked })).trouble).toEqual([])
  expect(readEvents(blocked).at(-1)).toMatchObject({ step: 3 })
})

test('the more there is, the fewer steps are written', async () => {
  const old = join(folder, 'events.out.tfevents.1.old')
  writeFileSync(old, '')
  truncateSync(old, 3 * (64 << 20))
  const steps = Array.from({ length: 32 }, (_, i) => i + 1)
  await run(1, steps)
  rmSync(old)
  expect(readEvents(folder).flatMap(({ step, scalars }) => (scalars ? [step] : []))).toEqual([8, 16, 24, 32])
})
