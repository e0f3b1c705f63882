import { expect, test } from 'vitest'
import { createGate, type Gate } from '../../../plugins/corrections/teachers/gate.ts'

const OPTIONS = { margin: 0.02, full: 0.1 }
const BY = { teacher: 'peer/a', task: 'sorting' }
/** The same, to be asked. */
const ASK = { ...BY, version: 1 }

/** Scores that are 1 in this share, evenly spread. */
const scores = (share: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Number(Math.floor((i + 1) * share) > Math.floor(i * share)))

function learnt(own: number, theirs: number, count: number): Gate {
  const gate = createGate(OPTIONS)
  for (const score of scores(own, 64)) gate.own(BY.task, score)
  for (const score of scores(theirs, count)) gate.answered({ ...BY, version: 1 }, score)
  return gate
}

test('a teacher that is far ahead is listened to in full, once it has answered enough', () => {
  expect(learnt(0.1, 0.6, 24).teacherOf(BY.task, [BY.teacher])).toBeUndefined()
  expect(learnt(0.1, 0.6, 32).teacherOf(BY.task, [BY.teacher])).toMatchObject({ ...BY, weight: 1 })
})

test('a lead that may be chance is not listened to', () => {
  expect(learnt(0.3, 0.4, 48).teacherOf(BY.task, [BY.teacher])).toBeUndefined()
  expect(learnt(0.4, 0.3, 256).teacherOf(BY.task, [BY.teacher])).toBeUndefined()
  // All of a few answers wrong on one side is no certainty.
  expect(learnt(0, 0.06, 32).teacherOf(BY.task, [BY.teacher])).toBeUndefined()
})

test('a teacher counts less as this node catches up, and then not at all', () => {
  const gate = learnt(0.1, 0.6, 128)
  const weights: number[] = []
  for (const score of scores(0.7, 400)) {
    gate.own(BY.task, score)
    weights.push(gate.teacherOf(BY.task, [BY.teacher])?.weight ?? 0)
  }
  expect(weights[0]).toBe(1)
  expect(weights.at(-1)).toBe(0)
  expect(weights.some((weight) => weight > 0 && weight < 1)).toBe(true)
  expect(gate.listening()).toEqual([])
})

test('evidence is of one task and one teacher', () => {
  const gate = learnt(0.1, 0.6, 64)
  expect(gate.teacherOf('fractions', [BY.teacher])).toBeUndefined()
  expect(gate.teacherOf(BY.task, ['peer/b'])).toBeUndefined()
  expect(gate.listening()).toHaveLength(1)
})

test('of several teachers the most accurate teaches', () => {
  const gate = learnt(0.1, 0.5, 64)
  for (const score of scores(0.8, 64)) gate.answered({ ...BY, teacher: 'peer/b', version: 1 }, score)
  expect(gate.teacherOf(BY.task, [BY.teacher, 'peer/b'])?.teacher).toBe('peer/b')
  expect(gate.teacherOf(BY.task, [BY.teacher])?.teacher).toBe(BY.teacher)
})

test('nobody is asked whose answers cannot matter', () => {
  const gate = learnt(0.5, 0.1, 40)
  expect(gate.next([ASK])).toBeUndefined()
  expect(gate.next([ASK, { ...ASK, teacher: 'peer/b' }])).toEqual({ ...ASK, teacher: 'peer/b' })
  // A claim spares a trial, and is no evidence.
  expect(gate.next([{ ...ASK, teacher: 'peer/b', claim: 0.4 }])).toBeUndefined()
  expect(gate.next([{ ...ASK, teacher: 'peer/b', claim: 1 }])).toBeDefined()
  expect(gate.teacherOf(BY.task, ['peer/b'])).toBeUndefined()
  // Without own answers there is nothing to compare with.
  expect(gate.next([{ ...ASK, task: 'fractions' }])).toBeUndefined()
  expect(learnt(0.1, 0.6, 256).next([ASK])).toBeUndefined()
})

test('a trial that has begun goes on until it is settled, so that the first lesson comes early', () => {
  const other = { ...ASK, teacher: 'peer/b' }
  expect(learnt(0.3, 0.5, 8).next([other, ASK])).toEqual(ASK)
  expect(learnt(0.3, 0.5, 32).next([ASK, other])).toEqual(other)
})

test('a teacher that is clearly behind is given up after a few answers', () => {
  expect(learnt(0.5, 0, 8).next([ASK])).toBeUndefined()
  expect(learnt(0.5, 0.4, 8).next([ASK])).toEqual(ASK)
})

test('a teacher that was given up is tried again once it has changed, and not for long', () => {
  const gate = learnt(0.5, 0.1, 32)
  expect(gate.next([ASK])).toBeUndefined()
  const changed = { ...ASK, version: 2 }
  expect(gate.next([changed])).toEqual(changed)
  for (const score of scores(0.1, 8)) gate.answered(changed, score)
  expect(gate.next([changed])).toBeUndefined()
})

test('earlier answers count less once a teacher has changed', () => {
  const gate = learnt(0.3, 0.6, 64)
  for (let version = 2; version < 40; version++) gate.answered({ ...BY, version }, 0)
  expect(gate.teacherOf(BY.task, [BY.teacher])).toBeUndefined()
})

test('what was decided survives a restart, and nonsense is refused', () => {
  const gate = learnt(0.1, 0.6, 64)
  const again = createGate(OPTIONS)
  again.load(JSON.parse(JSON.stringify(gate.save())))
  expect(again.listening()).toEqual(gate.listening())
  expect(() => again.load({ own: [], teachers: [{ teacher: 1 }] })).toThrow()
})
