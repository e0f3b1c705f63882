// What a model has learnt from: counted per update, kept with the weights.

import { expect, test } from 'vitest'
import { createTrainedOn, MAX_PEERS, trainedOnState } from '../../daemon/trainer/trained-on.ts'

const MINUTE = 60_000

function counting() {
  let time = 1_700_000_000_000
  const record = createTrainedOn({ now: () => time })
  return { record, wait: (ms: number) => (time += ms), now: () => time }
}
const update = (own: number, foreign: Record<string, number> = {}) => ({ own, foreign })

test('groups and their peers are counted over the life of the model and over the last hour', () => {
  const { record, wait } = counting()
  record.add(update(4, { a: 3, b: 1 }))
  wait(50 * MINUTE)
  record.add(update(2, { b: 2 }))
  expect(record.info).toEqual({
    ...{ trainedOwn: 6, trainedForeign: 6, trainedPeers: 2 },
    trainedLastHour: { own: 6, foreign: 6, peers: 2 },
  })
  wait(15 * MINUTE)
  expect(record.info).toEqual({
    ...{ trainedOwn: 6, trainedForeign: 6, trainedPeers: 2 },
    trainedLastHour: { own: 2, foreign: 2, peers: 1 },
  })
})

test('a checkpoint has the counts, and a restart goes on with them', () => {
  const { record, wait, now } = counting()
  for (let i = 0; i < 200; i++) {
    record.add(update(2, { [`peer ${i % 3}`]: 5 }))
    wait(MINUTE)
  }
  const saved = trainedOnState.parse(JSON.parse(JSON.stringify(record.save())))
  const again = createTrainedOn({ now })
  again.restore(saved)
  expect(again.info).toEqual(record.info)
  expect(again.info).toMatchObject({ trainedOwn: 400, trainedForeign: 1000, trainedPeers: 3 })
  expect(again.info.trainedLastHour).toEqual({ own: 118, foreign: 295, peers: 3 })
})

test('what is counted later does not change what was saved', () => {
  const { record } = counting()
  record.add(update(2, { a: 1 }))
  const saved = record.save()
  const text = JSON.stringify(saved)
  record.restore(saved)
  record.add(update(2, { b: 1 }))
  expect(JSON.stringify(saved)).toBe(text)
})

test('a clock that is set back leaves the life as it is and takes nothing from the future into the hour', () => {
  const { record, wait } = counting()
  record.add(update(3, { a: 1 }))
  wait(-600 * MINUTE)
  expect(record.info).toMatchObject({ trainedOwn: 3, trainedLastHour: { own: 0, foreign: 0, peers: 0 } })
  record.add(update(1))
  expect(record.info).toMatchObject({ trainedOwn: 4, trainedLastHour: { own: 1, foreign: 0, peers: 0 } })
})

test('any number of peers takes little room', () => {
  const { record } = counting()
  for (let i = 0; i < 3000; i++) record.add(update(0, { [`12D3KooW${'x'.repeat(40)}${i}`]: 1 }))
  expect(record.info).toMatchObject({ trainedForeign: 3000, trainedPeers: MAX_PEERS })
  expect(JSON.stringify(record.save()).length).toBeLessThan(100_000)
  expect(trainedOnState.safeParse(record.save()).success).toBe(true)
})
