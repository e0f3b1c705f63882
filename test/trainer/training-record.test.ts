import { expect, test } from 'vitest'
import { MAX_PHASES, trainedMeta } from '../../daemon/policy/trained.ts'
import { createTrainingRecord, type TrainingFacts } from '../../daemon/trainer/checkpoints/training-record.ts'

const facts = (learningRate: number, task = 'sums'): TrainingFacts => ({
  tasks: [{ name: task, difficulty: 1 }],
  learningRate,
  plugins: { estimator: ['grpo'] },
})

function recordWith(
  now: { facts: TrainingFacts },
  phases?: Parameters<typeof createTrainingRecord>[0]['phases'],
) {
  return createTrainingRecord({ phases }, { facts: () => now.facts })
}

test('a new phase begins with the first step after a change', () => {
  const now = { facts: facts(1e-4) }
  const record = recordWith(now)
  record.step(1)
  record.step(2)
  now.facts = facts(3e-4)
  record.step(3)
  expect(record.phases()).toEqual([
    { from: 1, to: 2, ...facts(1e-4) },
    { from: 3, to: 3, ...facts(3e-4) },
  ])
})

test('a restart with the same settings continues the phase of the checkpoint, as it was read back', () => {
  const first = recordWith({ facts: facts(1e-4) })
  first.step(1)
  const saved = trainedMeta(JSON.parse(JSON.stringify({ phases: first.phases() }))).phases
  const second = recordWith({ facts: facts(1e-4) }, saved)
  second.step(2)
  expect(second.phases()).toEqual([{ from: 1, to: 2, ...facts(1e-4) }])
})

test('an update whose gradient was not finite is no step and begins no phase', () => {
  const now = { facts: facts(1e-4) }
  const record = recordWith(now)
  record.begin({ from: 0, to: 0, ...facts(1e-3), workedExamples: 8, steps: 4 })
  record.step(0)
  record.step(1)
  for (let skipped = 0; skipped < MAX_PHASES; skipped++) record.step(1)
  now.facts = facts(3e-4)
  record.step(1)
  record.step(2)
  expect(record.phases()).toEqual([
    { from: 0, to: 0, ...facts(1e-3), workedExamples: 8, steps: 4 },
    { from: 1, to: 1, ...facts(1e-4) },
    { from: 2, to: 2, ...facts(3e-4) },
  ])
})

test('steps that a roll-back undid are not on record', () => {
  const now = { facts: facts(1e-4) }
  const record = recordWith(now)
  for (let step = 1; step <= 6; step++) record.step(step)
  now.facts = facts(1)
  record.step(7)
  record.goBack(4)
  now.facts = facts(1e-4)
  expect(record.phases()).toEqual([{ from: 1, to: 4, ...facts(1e-4) }])
})

test('the record is bounded', () => {
  const now = { facts: facts(1) }
  const record = recordWith(now)
  for (let step = 1; step <= 100; step++) {
    now.facts = facts(step)
    record.step(step)
  }
  expect(record.phases()).toHaveLength(MAX_PHASES)
  expect(trainedMeta({ phases: record.phases() }).phases).toHaveLength(MAX_PHASES)
})

test('a record of another kind is none', () => {
  expect(trainedMeta({ phases: [{ from: 1, to: 'x' }], evaluations: 'none' })).toEqual({})
})
