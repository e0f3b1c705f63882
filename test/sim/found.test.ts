// Bugs that the simulation found, each as small as it can be shown.

import { Key } from 'interface-datastore'
import { expect, test } from 'vitest'
import { openRounds } from '../../daemon/node/rounds.ts'
import { createVolatileDatabase } from '../../daemon/store/database/volatile-database.ts'
import { Contents } from '../../daemon/swarm/admission/contents.ts'
import { openPeerDatastore } from '../../daemon/swarm/libp2p/datastore.ts'
import { SimulatedDisk } from '../store/simulated-disk.ts'
import { stillClock } from '../swarm/helpers.ts'
import { createLogLevel } from './log-level.ts'

test('a node that was killed does not write the groups of its last rounds again', async () => {
  const database = createVolatileDatabase()
  const first = await openRounds({ atLeast: 10 }, { database })
  const used = Array.from({ length: 200 }, () => first.next())
  // The checkpoint is older than the last rounds.
  const second = await openRounds({ atLeast: 12 }, { database })
  expect(second.next()).toBeGreaterThan(Math.max(...used))
})

test('a node that was stopped goes on with the very next round', async () => {
  const database = createVolatileDatabase()
  const first = await openRounds({ atLeast: 0 }, { database })
  expect([first.next(), first.next()]).toEqual([0, 1])
  await first.close()
  expect((await openRounds({ atLeast: 2 }, { database })).next()).toBe(2)
})

test("a peer's group has the same id after a restart, whoever sent its content first", () => {
  const clock = stillClock()
  const before = new Contents({}, { clock })
  before.admit('a copier', 'ab'.repeat(32))
  const id = before.admit('author', 'ab'.repeat(32))
  const after = new Contents({}, { clock })
  expect(after.admit('author', 'ab'.repeat(32))).toBe(id)
})

test("this node's own content is refused from others after a restart too", () => {
  const contents = new Contents({}, { clock: stillClock(), hasWritten: (id) => id === 'own' })
  expect([contents.isNew('author', 'own'), contents.isNew('author', 'theirs')]).toEqual([false, true])
})

test('a ban that was reported as saved survives a power cut', async () => {
  const disk = new SimulatedDisk()
  const on = (of: SimulatedDisk) => ({
    levelOf: ((directory: string) => createLogLevel({ directory }, { disk: of })) as never,
  })
  const key = new Key('/waggle/memory')
  const peers = await openPeerDatastore({ path: '/peers' }, on(disk))
  await peers.put(key, Uint8Array.of(1))
  const left = disk.afterPowerCut({ names: 'none', data: 'none' })
  expect(await (await openPeerDatastore({ path: '/peers' }, on(left))).get(key)).toEqual(Uint8Array.of(1))
})
