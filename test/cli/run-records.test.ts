// Which recorded evaluations belong to a checkpoint, where a home went back to an earlier step between two runs.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { CheckpointHere } from '../../daemon/cli/model/manifests.ts'
import { recordsOf } from '../../daemon/cli/model/run-records.ts'

const LINEAGE = 'a'
const begins = (time: number, version: number) => ({
  ...{ v: 1, id: 0, time, type: 'snapshot' },
  snapshot: { model: { policy: { lineage: LINEAGE, version } } },
})
const evaluation = (time: number, step: number, accuracy: number) => ({
  ...{ v: 1, id: 0, time, type: 'eval', step, version: step },
  ...{ accuracy, prompts: 40, tasks: { sums: accuracy } },
})

function runsOf(...runs: object[][]): { runs: string } {
  const folder = mkdtempSync(join(tmpdir(), 'waggle-records-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [i, lines] of runs.entries())
    writeFileSync(join(folder, `${i}.jsonl`), lines.map((line) => JSON.stringify(line)).join('\n'))
  return { runs: folder }
}

const checkpoint = (step: number, savedAt: number): CheckpointHere => ({
  ...{ folder: '/nowhere', name: String(step), lineage: LINEAGE, bytes: 0, step, savedAt },
})

/** It reached step 60, and the one after it began again at step 30. */
const LOST = [begins(0, 0), evaluation(10, 20, 0.2), evaluation(40, 50, 0.9)]

test('an evaluation of a step that was lost is not credited to a later checkpoint', () => {
  const runs = runsOf(LOST, [begins(100, 30)])
  expect(recordsOf(runs, checkpoint(55, 200)).last).toMatchObject({ step: 20, accuracy: 0.2 })
})

test('evaluations before the step at which a run goes on stay', () => {
  const runs = runsOf(LOST, [begins(100, 50), evaluation(150, 70, 0.3)])
  const { first, last } = recordsOf(runs, checkpoint(60, 200))
  expect([first, last]).toMatchObject([{ step: 20 }, { step: 50 }])
})

test('a step that was measured again after it was lost counts as then', () => {
  const runs = runsOf(LOST, [begins(100, 30), evaluation(150, 50, 0.4)])
  expect(recordsOf(runs, checkpoint(60, 200)).last).toMatchObject({ step: 50, accuracy: 0.4 })
})

test('a checkpoint from before a home went back keeps its evaluations', () => {
  const runs = runsOf(LOST, [begins(100, 30)])
  expect(recordsOf(runs, checkpoint(55, 60)).last).toMatchObject({ step: 50, accuracy: 0.9 })
})

test('what was measured after a home went back says nothing about a checkpoint from before', () => {
  const runs = runsOf(LOST, [begins(100, 30), evaluation(150, 52, 0.4)])
  expect(recordsOf(runs, checkpoint(55, 60)).last).toMatchObject({ step: 50, accuracy: 0.9 })
})
