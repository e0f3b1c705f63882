import { expect, test } from 'vitest'
import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import { createSeriesRecorder, downsample } from '../../daemon/control/journal/series.ts'
import type { SeriesPoint } from '../../protocol/api/index.ts'
import { createScriptedNode } from './scripted-node.ts'

test('a long run keeps its whole span in bounded memory', () => {
  const recorder = createSeriesRecorder()
  const base = createScriptedNode().snapshot()
  for (let step = 0; step < 20_000; step++) {
    recorder.sample({ ...base, time: step, training: { step, reward: step / 20_000 } })
  }
  const { points } = recorder.query({ name: 'reward', points: 1000 })
  expect(points.length).toBeLessThanOrEqual(1000)
  expect(points[0]![0]).toBeLessThan(100)
  expect(points.at(-1)![1]).toBe(19_999)
  for (const [, step, value] of points) expect(Math.abs(value - step / 20_000)).toBeLessThan(0.01)
})

test('downsampling keeps means', () => {
  const points = Array.from({ length: 100 }, (_, i): SeriesPoint => [i, i, i % 2])
  const small = downsample(points, 10)
  expect(small).toHaveLength(10)
  for (const [, , value] of small) expect(value).toBe(0.5)
})

test('labelled series have a name each', () => {
  const recorder = createSeriesRecorder()
  const node = createScriptedNode()
  node.advance(5)
  recorder.sample(node.snapshot())
  expect(recorder.query({ name: 'eval_task_accuracy.base_conversion' }).points).toHaveLength(1)
})

test('the event log keeps the newest and numbers without holes', () => {
  const log = createEventLog({ capacity: 4 }, { clock: () => 7 })
  for (let i = 0; i < 6; i++) log.emit({ type: 'state', state: 'TRAINING' })
  expect(log.since(0)).toMatchObject({ gap: { from: 1, to: 2 } })
  expect(log.since(0).events.map((event) => event.id)).toEqual([3, 4, 5, 6])
  expect(log.since(4).gap).toBeUndefined()
  expect(log.since(6).events).toEqual([])
})
