import { beforeEach, expect, test } from 'vitest'
import { makeSilence } from '../../../daemon/swarm/assembly/links.ts'
import { Silence } from '../../../daemon/swarm/links/silence.ts'
import { VirtualClock } from '../../virtual-clock.ts'

let clock: VirtualClock
let world: { peers: number; heard: number; silentFor: number | undefined }
beforeEach(() => {
  clock = new VirtualClock()
  world = { peers: 0, heard: 0, silentFor: undefined }
  new Silence(
    {},
    {
      clock,
      peers: () => world.peers,
      heard: () => world.heard,
      onSilent: (_, ms) => {
        world.silentFor ??= ms
      },
      onHeard: () => {
        world.silentFor = undefined
      },
    },
  ).start()
})

test('a crowd of silent peers is told of within a minute, a single one after ten', async () => {
  world.peers = 20
  await clock.pass(45_000)
  expect(world.silentFor).toBeUndefined()
  await clock.pass(10_000)
  expect(world.silentFor).toBe(50_000)
  world.heard = 1
  await clock.pass(5000)
  expect(world.silentFor).toBeUndefined()
  world.peers = 1
  await clock.pass(590_000)
  expect(world.silentFor).toBeUndefined()
  await clock.pass(15_000)
  expect(world.silentFor).toBe(600_000)
})

test('groups that come now and then, and having no peers, are no silence', async () => {
  world.peers = 20
  for (let i = 0; i < 10; i++) {
    await clock.pass(40_000)
    world.heard++
  }
  await clock.pass(5000)
  world.peers = 0
  await clock.pass(3_600_000)
  expect(world.silentFor).toBeUndefined()
})

test('the sleep of a machine is no silence', async () => {
  world.peers = 20
  await clock.pass(30_000)
  clock.sleep(8 * 3_600_000)
  await clock.pass(10_000)
  expect(world.silentFor).toBeUndefined()
})

test('peers whose weights come, and whose groups nobody needs to verify, are not silent', async () => {
  const bytes = { in: 0 }
  const silent: number[] = []
  makeSilence(
    {
      libp2p: { services: { pubsub: { getSubscribers: () => ['peer'] } } },
      exchange: { validator: { verified: 0 }, heads: { bytes } },
      notices: { silence: (_: number, ms: number) => silent.push(ms), over() {} },
    } as never,
    { clock, topic: 'groups' } as never,
  ).start()
  for (let i = 0; i < 20; i++) {
    bytes.in += 1000
    await clock.pass(60_000)
  }
  expect(silent).toEqual([])
  await clock.pass(660_000)
  expect(silent.length).toBeGreaterThan(0)
})
