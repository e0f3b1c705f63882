// Bugs that the simulation found, each as small as it can be shown.

import { Key } from 'interface-datastore'
import { expect, test } from 'vitest'
import { openRounds } from '../../daemon/node/rounds.ts'
import { openDatabase } from '../../daemon/store/database/database.ts'
import { createVolatileDatabase } from '../../daemon/store/database/volatile-database.ts'
import { createPool } from '../../daemon/store/pool/pool.ts'
import { Admission } from '../../daemon/swarm/admission/admission.ts'
import { SeenContent } from '../../daemon/swarm/admission/seen-content.ts'
import { openPeerDatastore } from '../../daemon/swarm/libp2p/datastore.ts'
import { PeerRecords } from '../../daemon/swarm/peers/records.ts'
import { encodeGroup, peerIdOf } from '../../protocol/wire/index.ts'
import { testSigner } from '../protocol/wire/cases.ts'
import { plainGroup } from '../store/groups.ts'
import { SimulatedDisk } from '../store/simulated-disk.ts'
import { draft, stillClock, tasks } from '../swarm/groups.ts'
import { openExchanger } from './exchanger.ts'
import { identityFrom } from './identity.ts'
import { createLogLevel } from './log-level.ts'
import { createNet } from './net.ts'
import { createWorld, type World } from './world.ts'

const onDisk = (disk: SimulatedDisk) => ({
  levelOf: ((directory: string) => createLogLevel({ directory }, { disk })) as never,
})
const exchangerOf = (name: string, world: World) => ({
  identity: identityFrom(world.random(`key of ${name}`), 'stand-in'),
  random: world.random(name),
})

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
  const before = new SeenContent({}, { clock })
  before.admit('a copier', 'ab'.repeat(32))
  const id = before.admit('author', 'ab'.repeat(32))
  const after = new SeenContent({}, { clock })
  expect(after.admit('author', 'ab'.repeat(32))).toBe(id)
})

test("this node's own content is refused from others after a restart too", () => {
  const contents = new SeenContent({}, { clock: stillClock(), hasWritten: (id) => id === 'own' })
  expect([contents.isNew('author', 'own'), contents.isNew('author', 'theirs')]).toEqual([false, true])
})

test('a ban that was reported as saved survives a power cut', async () => {
  const disk = new SimulatedDisk()
  const key = new Key('/waggle/memory')
  const peers = await openPeerDatastore({ path: '/peers' }, onDisk(disk))
  await peers.put(key, Uint8Array.of(1))
  const left = await openPeerDatastore(
    { path: '/peers' },
    onDisk(disk.afterPowerCut({ names: 'none', data: 'none' })),
  )
  expect(await left.get(key)).toEqual(Uint8Array.of(1))
})

test('what is saved of peers after a failed write is there after a restart', async () => {
  const disk = new SimulatedDisk()
  const key = new Key('/waggle/memory')
  const peers = await openPeerDatastore({ path: '/peers' }, onDisk(disk))
  disk.fault = (operation) => (operation === 'append' ? 'ENOSPC' : undefined)
  await expect(peers.put(key, Uint8Array.of(1))).rejects.toThrow()
  disk.fault = () => undefined
  await peers.put(key, Uint8Array.of(2))
  await peers.close()
  expect(await (await openPeerDatastore({ path: '/peers' }, onDisk(disk))).get(key)).toEqual(Uint8Array.of(2))
})

test('a node that was killed while its clock was ahead does not take its own groups for those of an impostor', () => {
  const [clock, signer] = [stillClock(), testSigner(1)]
  const own = draft(1)
  let impostors = 0
  const admission = new Admission(
    { self: peerIdOf(signer.publicKey), arms: ['base'] },
    {
      ...{ clock, tasks, isMuted: () => false, records: new PeerRecords({}, { clock }) },
      seenContent: new SeenContent({}, { clock, hasWritten: (id) => id === own.id }),
      onImpostor: () => void impostors++,
    },
  )
  // Ten seconds ahead when it was written; a peer sends it again after a minute.
  const createdAt = clock.now() + 10_000
  clock.time += 60_000
  admission.screen(encodeGroup({ ...own, sequence: 1, createdAt }, signer), 'a peer')
  expect(impostors).toBe(0)
  admission.screen(encodeGroup({ ...draft(2), sequence: 2, createdAt }, signer), 'a peer')
  expect(impostors).toBe(1)
})

test('an author whose receiver was killed does not get its quota anew', async () => {
  const world = createWorld({ seed: 1 })
  const net = createNet({ world, random: world.random('net') })
  const peers = await openPeerDatastore({ path: '/peers' }, onDisk(new SimulatedDisk()))
  const author = openExchanger(exchangerOf('author', world), { world, net })
  let got = 0
  /** What one life of the receiver admits of a burst. */
  const admitted = async (): Promise<number> => {
    const onGroup = () => void got++
    const receiver = openExchanger(exchangerOf('receiver', world), { world, net, datastore: peers, onGroup })
    got = 0
    await receiver.exchange.start()
    net.connect(author.id, receiver.id)
    for (let burst = 0; burst < 7; burst++) {
      for (let i = 0; i < 40; i++) author.write()
      await world.run(world.time + 1000)
    }
    receiver.kill()
    return got
  }
  // Its burst, and eight a second.
  expect(await admitted()).toBeGreaterThan(256)
  expect(await admitted()).toBeLessThan(100)
})

test('a newcomer to which gossip brings a group before it has asked still asks for what came before', async () => {
  const world = createWorld({ seed: 1 })
  const net = createNet({ world, random: world.random('net') })
  const [author, neighbour] = [
    openExchanger(exchangerOf('author', world), { world, net }),
    openExchanger(exchangerOf('neighbour', world), { world, net }),
  ]
  net.connect(author.id, neighbour.id)
  await world.run(1000)
  for (let i = 0; i < 5; i++) author.write()
  await world.run(60_000)
  let got = 0
  const newcomer = openExchanger(exchangerOf('newcomer', world), { world, net, onGroup: () => void got++ })
  await Promise.all([author, neighbour, newcomer].map(({ exchange }) => exchange.start()))
  // It greets and asks 200 ms later, and gossip is faster.
  net.connect(newcomer.id, neighbour.id)
  author.write()
  await world.run(70_000)
  expect(got).toBe(6)
})

test('a checkpoint tells which groups it has learnt from when the database cannot', async () => {
  const disk = new SimulatedDisk()
  const log = () => {}
  const open = async (isFull: () => boolean) => {
    const levelOf = (directory: string) => {
      const level = createLogLevel({ directory }, { disk })
      const batch: typeof level.batch = async (...asked) => {
        if (isFull()) throw new Error('ENOSPC')
        return level.batch(...asked)
      }
      return { ...level, batch }
    }
    const database = await openDatabase({ directory: '/store' }, { log, levelOf, later: () => () => {} })
    return createPool({ capacityGroups: 10 }, { database, log })
  }
  const [known, arrived] = [plainGroup(1), plainGroup(2)]
  let isFull = false
  const pool = await open(() => isFull)
  pool.add(known, 'foreign')
  await pool.flush()
  expect(pool.unwritten()).toEqual([])
  isFull = true
  pool.add(arrived, 'foreign')
  pool.markUsed([known.id, arrived.id], 7)
  await expect(pool.flush()).rejects.toThrow()
  const learnt = pool.unwritten()
  // The node is killed, and starts with the checkpoint that says so.
  const again = await open(() => false)
  again.retire(learnt)
  expect(again.select({ origin: 'foreign', count: 10, order: 'newest' })).toEqual([])
  expect(again.add(arrived, 'foreign')).toBe(false)
})
