// What weights of peers must not do to stay.

import { expect, test } from 'vitest'
import { bestOf, createTally, judge, type TaskAccuracy } from '../../../daemon/trainer/heads/trial.ts'

const tasks = (sums: number, sorting: number, error = 0.02): TaskAccuracy[] => [
  { task: 'sums', accuracy: sums, error },
  { task: 'sorting', accuracy: sorting, error },
]

test('weights that take nothing from any task may stay', () => {
  expect(judge(tasks(0.2, 0.4), tasks(0.2, 0.41))).toMatchObject({ isTaken: true })
})

test('a gain in one task does not outweigh a loss in another', () => {
  expect(judge(tasks(0.2, 0.41), tasks(0.6, 0.3))).toMatchObject({
    isTaken: false,
    fallen: { task: 'sorting', before: 0.41, after: 0.3 },
  })
})

test('a fall that few questions cannot tell from chance is none', () => {
  expect(judge(tasks(0.2, 0.41, 0.1), tasks(0.2, 0.32, 0.1))).toMatchObject({ isTaken: true })
})

test('a loss of more than a quarter is refused beyond one standard error', () => {
  expect(judge(tasks(0.2, 0.5, 0.12), tasks(0.2, 0.3, 0.12))).toMatchObject({ isTaken: false })
  expect(judge(tasks(0.2, 0.5, 0.16), tasks(0.2, 0.3, 0.16))).toMatchObject({ isTaken: true })
})

test('a task that hardly any answer gets right may lose one of them', () => {
  const answered = (right: number): TaskAccuracy[] => {
    const tally = createTally()
    const rewards = Array.from({ length: 100 }, (_, i) => (i < right ? 1 : 0))
    tally.add([{ task: 'conversion', questions: 100, rewards }])
    return tally.accuracies()
  }
  expect(judge(answered(3), answered(2))).toMatchObject({ isTaken: true })
  expect(judge(answered(3), answered(0))).toMatchObject({ isTaken: false })
})

test('a task may lose a tenth of what it had, however sure that is', () => {
  expect(judge(tasks(0.2, 0.4, 0.001), tasks(0.2, 0.37, 0.001))).toMatchObject({ isTaken: true })
  expect(judge(tasks(0.2, 0.4, 0.001), tasks(0.2, 0.35, 0.001))).toMatchObject({ isTaken: false })
})

test('where the mean must hold, it may not fall', () => {
  expect(judge(tasks(0.2, 0.4), tasks(0.2, 0.39), { must: 'hold' })).toMatchObject({ isTaken: false })
  expect(judge(tasks(0.2, 0.4), tasks(0.2, 0.4), { must: 'hold' })).toMatchObject({ isTaken: true })
})

test('where the mean must rise, it has to by more than a standard error', () => {
  expect(judge(tasks(0.2, 0.4), tasks(0.22, 0.41), { must: 'rise' })).toMatchObject({ isTaken: false })
  expect(judge(tasks(0.2, 0.4), tasks(0.23, 0.43), { must: 'rise' })).toMatchObject({ isTaken: true })
})

test('a verdict is clear once the mean has gone its way by more than chance', () => {
  const isClear = (sums: number, sorting: number): boolean =>
    judge(tasks(0.2, 0.4), tasks(sums, sorting)).isClear
  expect(isClear(0.25, 0.45)).toBe(false)
  expect(isClear(0.3, 0.5)).toBe(true)
  expect(isClear(0.1, 0.3)).toBe(true)
})

test('a mean that rose clearly is no clear verdict while a task fell, or may have', () => {
  expect(judge(tasks(0.2, 0.4), tasks(0.6, 0.3))).toMatchObject({ isTaken: false, isClear: false })
  expect(judge(tasks(0.2, 0.4), tasks(0.6, 0.38))).toMatchObject({ isTaken: true, isClear: false })
})

test('many small falls do not add up', () => {
  let had = tasks(0.4, 0.4)
  let best = bestOf([], had)
  let taken = 0
  for (let i = 0; i < 20; i++) {
    const has = tasks(had[0]!.accuracy - 0.03, 0.4)
    if (!judge(had, has, { best }).isTaken) continue
    taken++
    best = bestOf(best, has)
    had = has
  }
  expect(taken).toBe(1)
})

test('weights that raise a ruined task are taken, however far it is from its best', () => {
  const best = tasks(0.4, 0.4)
  expect(judge(tasks(0, 0.4), tasks(0.1, 0.4), { best })).toMatchObject({ isTaken: true })
  expect(judge(tasks(0, 0.4), tasks(0, 0.4), { best })).toMatchObject({
    isTaken: false,
    fallen: { task: 'sums', before: 0.4, after: 0 },
  })
})

test('a task that was lucky once is not measured by that', () => {
  const [usual, lucky] = [tasks(0.4, 0.4, 0.05), tasks(0.5, 0.4, 0.05)]
  expect(bestOf(usual, lucky)).toEqual(usual)
  expect(bestOf(usual, tasks(0.6, 0.4, 0.05))).toEqual(tasks(0.6, 0.4, 0.05))
})

test('the task that lost most of what it had is named', () => {
  expect(judge(tasks(0.2, 0.4), tasks(0.1, 0.3)).fallen?.task).toBe('sums')
})
