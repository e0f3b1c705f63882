// Groups too large for gossip: whose body is fetched when.

import { expect, test } from 'vitest'
import { Announced } from '../../../daemon/swarm/fetch/announced.ts'

/** Bodies of the owner `silent` never come; those of others do, when told. */
function make() {
  const timers: Array<() => void> = []
  const asked: string[] = []
  const silent: string[] = []
  const answers = new Map<string, (came: boolean) => void>()
  const announced = new Announced(
    {},
    {
      clock: {
        now: () => 0,
        after(_, run) {
          timers.push(run)
          return () => {}
        },
      },
      fetch(hash) {
        asked.push(hash)
        return new Promise((resolve) => answers.set(hash, resolve))
      },
      onSilent: (owner) => silent.push(owner),
    },
  )
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const answer = async (came: (hash: string) => boolean) => {
    for (const [hash, resolve] of [...answers]) {
      answers.delete(hash)
      resolve(came(hash))
    }
    await turn()
    for (const run of timers.splice(0)) run()
    await turn()
  }
  const add = (owner: string, i: number) => announced.add({ hash: `${owner} ${i}`, owner, sources: [owner] })
  return { asked, silent, add, answer }
}

test('81 bodies that never come do not keep 15 others waiting', async () => {
  const { asked, silent, add, answer } = make()
  for (let i = 0; i < 81; i++) add('silent', i)
  for (let i = 0; i < 15; i++) add('honest', i)
  // Two of each at once: those of the silent one hold up nobody but itself.
  expect(asked).toEqual(['silent 0', 'silent 1', 'honest 0', 'honest 1'])
  for (let round = 0; round < 8; round++) await answer((hash) => hash.startsWith('honest'))
  expect(asked.filter((hash) => hash.startsWith('honest')).length).toBe(15)
  for (let round = 0; round < 60; round++) await answer(() => false)
  expect(silent.length).toBe(16)
  expect(new Set(silent)).toEqual(new Set(['silent']))
})

test('an author whose bodies did not come may announce one at a time until they come again', async () => {
  const { asked, add, answer } = make()
  for (let i = 0; i < 16; i++) add('silent', i)
  for (let round = 0; round < 60; round++) await answer(() => false)
  asked.length = 0
  for (let i = 100; i < 110; i++) add('silent', i)
  expect(asked).toEqual(['silent 100'])
  await answer(() => true)
  for (let i = 200; i < 220; i++) {
    add('silent', i)
    await answer(() => true)
  }
  asked.length = 0
  for (let i = 300; i < 310; i++) add('silent', i)
  for (let round = 0; round < 10; round++) await answer(() => true)
  expect(asked.length).toBe(10)
})

test('a body that is there later is asked for again', async () => {
  const { asked, silent, add, answer } = make()
  add('slow', 0)
  await answer(() => false)
  await answer(() => false)
  await answer(() => true)
  expect(asked).toEqual(['slow 0', 'slow 0', 'slow 0'])
  expect(silent).toEqual([])
})
