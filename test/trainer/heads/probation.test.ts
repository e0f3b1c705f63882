// Peers whose heads are not taken for a while, also after a restart.

import { expect, test } from 'vitest'
import { openProbation } from '../../../daemon/node/heads/probation-record.ts'
import { createVolatileDatabase } from '../../../daemon/store/database/volatile-database.ts'
import { createProbation, MAX_PROBATED } from '../../../daemon/trainer/heads/probation.ts'

test('each time that a peer is put out it is for twice as long', () => {
  const probation = createProbation()
  probation.put(['a'], 10)
  expect([probation.isOut('a', 59), probation.isOut('a', 60)]).toEqual([true, false])
  probation.put(['a'], 100)
  expect([probation.isOut('a', 199), probation.isOut('a', 200)]).toEqual([true, false])
  expect([probation.isOut('b', 0), probation.isSuspect('a'), probation.isSuspect('b')]).toEqual([
    ...[false, true, false],
  ])
  probation.passed(['a'])
  expect(probation.isSuspect('a')).toBe(false)
})

test('a trial that takes the head of a peer makes up for one of its offences', () => {
  const probation = createProbation()
  for (const version of [10, 100]) probation.put(['a'], version)
  probation.passed(['a'])
  probation.put(['a'], 1000)
  expect([probation.isOut('a', 1099), probation.isOut('a', 1100)]).toEqual([true, false])
})

test('a trial of a peer that was not suspected makes up for nothing', () => {
  const probation = createProbation()
  for (const version of [10, 100]) probation.put(['a'], version)
  for (let i = 0; i < 3; i++) probation.passed(['a'])
  probation.put(['a'], 1000)
  expect([probation.isOut('a', 1099), probation.isOut('a', 1100)]).toEqual([true, false])
})

/** A node that starts at this version, and what it logs. */
async function start(version: number, database = createVolatileDatabase(), lineage = 'l') {
  const lines: string[] = []
  const policy = { lineage, reference: () => ({ lineage: '', tokenizer: '', version }) }
  const probation = await openProbation(policy, { database, log: (_level, line) => void lines.push(line) })
  return { probation, database, lines }
}

test('a restart pardons nobody, and remembers how often each offended', async () => {
  const { probation, database } = await start(10)
  probation.put(['a', 'b'], 10)
  probation.passed(['b'])
  const { probation: again } = await start(10, database)
  expect([again.isOut('a', 59), again.isOut('a', 60)]).toEqual([true, false])
  expect([again.isSuspect('a'), again.isSuspect('b'), again.isOut('c', 10)]).toEqual([true, false, false])
  again.put(['a'], 100)
  expect((await start(100, database)).probation.isOut('a', 199)).toBe(true)
})

test('an offence that was made up for does not come back with a restart', async () => {
  const { probation, database } = await start(10)
  probation.put(['a'], 10)
  probation.passed(['a'])
  const { probation: again } = await start(100, database)
  again.put(['a'], 100)
  expect([again.isOut('a', 149), again.isOut('a', 150)]).toEqual([true, false])
})

test('a peer that the user pardoned stays pardoned', async () => {
  const { probation, database } = await start(10)
  probation.put(['a'], 10)
  probation.pardon('a')
  expect((await start(10, database)).probation.isOut('a', 11)).toBe(false)
})

test('a node that continues from an earlier checkpoint asks again after as many steps as a term has', async () => {
  const { probation, database } = await start(5000)
  probation.put(['a'], 5000)
  const { probation: again } = await start(20, database)
  expect([again.isOut('a', 69), again.isOut('a', 70)]).toEqual([true, false])
})

test('another lineage knows nothing of it', async () => {
  const { probation, database } = await start(10)
  probation.put(['a'], 10)
  expect((await start(10, database, 'other')).probation.isOut('a', 11)).toBe(false)
})

test.each([
  ...['', '{', 'null', '[]', '{"lineage":"l"}'],
  '{"lineage":"l","peers":[{"peer":"a","until":-1,"offences":1,"isSuspect":true}]}',
  '{"lineage":"l","peers":[{"peer":"a","until":1e400,"offences":1,"isSuspect":true}]}',
])('a damaged record counts as none, and the log says so: %s', async (text) => {
  const database = createVolatileDatabase()
  await database.namespace('state').put('probation', Buffer.from(text))
  const { probation, lines } = await start(10, database)
  expect(lines).toEqual([expect.stringMatching(/damaged/)])
  expect(probation.isOut('a', 11)).toBe(false)
})

test('those who offended longest ago are forgotten first', async () => {
  const { probation, database } = await start(10)
  for (let i = 0; i <= MAX_PROBATED; i++) probation.put([`peer ${i}`], 10)
  const { probation: again } = await start(10, database)
  expect([again.isOut('peer 0', 11), again.isOut('peer 1', 11)]).toEqual([false, true])
})
