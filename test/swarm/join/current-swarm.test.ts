// Homes and the swarms that they belong to: what an invite brings, what the config may overrule, what leaving takes away.

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  formatPsk,
  makePsk,
  type OpenSwarmOptions,
  openSwarm,
  type Swarm,
  type SwarmEvent,
} from '../../../daemon/swarm/index.ts'
import { decodeInvite } from '../../../protocol/wire/index.ts'
import { codec, freshIdentity, startNode, stopNodes, tasks, until, worldClock } from '../helpers.ts'

let folder: string
const closers: Array<() => Promise<void>> = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-seat-'))
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  await stopNodes()
  rmSync(folder, { recursive: true, force: true })
})

const identities = new Map<string, ReturnType<typeof freshIdentity>>()

/** A node from its files under this name. */
async function open(
  name: string,
  options: Partial<OpenSwarmOptions> = {},
): Promise<{ swarm: Swarm; file: string; events: SwarmEvent[]; close: () => Promise<void> }> {
  const events: SwarmEvent[] = []
  const file = join(folder, name, 'swarm.json')
  if (!identities.has(name)) identities.set(name, freshIdentity())
  const { swarm, close } = await openSwarm(
    {
      peers: join(folder, name, 'peers'),
      membership: file,
      listen: ['/ip4/127.0.0.1/tcp/0'],
      lan: 'off',
      wide: false,
      maxCompletionTokens: 200,
      ...options,
    },
    {
      identity: identities.get(name)!,
      clock: worldClock,
      random: Math.random,
      log: () => {},
      tasks,
      codec,
      version: () => 0,
      onGroup: () => {},
      onEvent: (event) => events.push(event),
    },
  )
  const once = () => {
    const at = closers.indexOf(once)
    if (at >= 0) closers.splice(at, 1)
    return close()
  }
  closers.push(once)
  return { swarm, file, events, close: once }
}

test('a private swarm’s invite is all that a fresh home needs, before the first start and after a restart', async () => {
  const founder = await open('founder', { private: true })
  const invite = await founder.swarm.invite()
  const { swarm, file, close } = await open('fresh', { invite })
  expect(await swarm.join(invite)).toMatchObject({ state: 'connected', peerId: founder.swarm.peerId })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  await close()
  const again = await open('fresh')
  await until('the rejoin', () => again.swarm.counters().connected === 1)
})

test('a running node changes over to a private swarm when it is given an invite, and back when it leaves', async () => {
  const founder = await open('founder', { private: true, name: 'lab' })
  const { swarm, file } = await open('runner')
  const open1 = await startNode({ swarm: 'waggle' })
  expect(swarm.name).toBe('waggle')
  expect(await swarm.join(await founder.swarm.invite())).toMatchObject({ state: 'connected' })
  expect(swarm.name).toBe('lab')
  await swarm.leave()
  expect(existsSync(file)).toBe(false)
  expect(swarm.name).toBe('waggle')
  await until('the founder to see it go', () => founder.swarm.counters().connected === 0)
  expect(await swarm.join(open1.address)).toMatchObject({ state: 'connected' })
})

test('notices of a swarm end when the node moves to another', async () => {
  const founder = await open('founder', { private: true, name: 'lab' })
  const { swarm, events } = await open('runner')
  const other = await startNode({ swarm: 'other' })
  await expect(swarm.join(other.address)).rejects.toMatchObject({ code: 'E_SWARM_RULES' })
  const key = `rules-${other.swarm.peerId}`
  expect(events).toContainEqual(expect.objectContaining({ type: 'notice', key }))
  await swarm.leave()
  await swarm.join(await founder.swarm.invite())
  expect(events).toContainEqual({ type: 'over', key })
})

test('from one private swarm to another: after `leave` the invite is accepted, also where the config asks for a key', async () => {
  const one = await open('one', { private: true, name: 'one' })
  const other = await open('other', { private: true, name: 'other' })
  const { swarm } = await open('mover', { private: true })
  await expect(swarm.join(await one.swarm.invite())).rejects.toMatchObject({ code: 'E_SWARM_RULES' })
  await swarm.leave()
  expect(await swarm.join(await one.swarm.invite())).toMatchObject({ state: 'connected' })
  await expect(swarm.join(await other.swarm.invite())).rejects.toMatchObject({
    hint: expect.stringContaining('waggle leave'),
  })
  await swarm.leave()
  expect(await swarm.join(await other.swarm.invite())).toMatchObject({ state: 'connected' })
  expect(swarm.name).toBe('other')
})

test('an invite to another swarm does not move a node out of the swarm that it joined', async () => {
  const a = await startNode({ swarm: 'waggle' })
  const founder = await open('founder', { private: true })
  const { swarm, file } = await open('member')
  await swarm.join(a.address)
  await expect(swarm.join(await founder.swarm.invite())).rejects.toMatchObject({
    code: 'E_SWARM_RULES',
    hint: expect.stringContaining('waggle leave'),
  })
  expect(swarm.counters().connected).toBe(1)
  expect(existsSync(file)).toBe(false)
})

test('an invite does not override the config', async () => {
  const founder = await open('founder', { private: true, name: 'lab' })
  const invite = await founder.swarm.invite()
  await expect(open('named', { name: 'other', invite })).rejects.toMatchObject({
    code: 'E_SWARM_RULES',
    message: expect.stringContaining('swarm.name = "other"'),
  })
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, formatPsk(makePsk()), { mode: 0o600 })
  await expect(open('keyed', { keyFile, invite })).rejects.toMatchObject({ code: 'E_SWARM_RULES' })
  const public1 = await startNode({ swarm: 'lab' })
  const bare = await public1.swarm.invite()
  await expect(open('private', { private: true, invite: bare })).rejects.toMatchObject({
    code: 'E_SWARM_RULES',
    message: expect.stringContaining('open'),
  })
})

test('a key that was made is kept; its file must be the owner’s alone and whole', async () => {
  const { swarm, file, close } = await open('founder', { private: true })
  const { psk } = decodeInvite(await swarm.invite())
  await close()
  const again = await open('founder', { private: true })
  expect(decodeInvite(await again.swarm.invite()).psk).toEqual(psk)
  await again.close()
  const good = readFileSync(file, 'utf8')
  for (const bad of ['', '{', good.replace('"v":1', '"v":2'), good.replace(/[0-9a-f]{8}"/, 'z"')]) {
    writeFileSync(file, bad)
    await expect(open('founder', { private: true })).rejects.toMatchObject({
      code: 'E_CONFIG',
      message: expect.stringContaining('damaged'),
    })
  }
  writeFileSync(file, good)
  const { chmodSync } = await import('node:fs')
  chmodSync(file, 0o644)
  await expect(open('founder', { private: true })).rejects.toMatchObject({
    hint: expect.stringContaining('chmod 600'),
  })
})

test('a swarm that cannot be opened leaves the node in the one it was in', async () => {
  const founder = await open('founder', { private: true, name: 'lab' })
  // WebRTC cannot be used with a key.
  const { swarm, file } = await open('direct', { wide: true, webrtc: true })
  await expect(swarm.join(await founder.swarm.invite())).rejects.toMatchObject({ code: 'E_CONFIG' })
  expect(swarm.name).toBe('waggle')
  expect(existsSync(file)).toBe(false)
  const a = await startNode({ swarm: 'waggle', wide: true })
  expect(await swarm.join(a.address)).toMatchObject({ state: 'connected' })
})

test('a node without the key cannot connect to a private swarm and learns nothing about it', async () => {
  const founder = await open('founder', { private: true })
  const outsider = await open('outsider')
  const outcome = await outsider.swarm.join(founder.swarm.addresses()[0]!, {
    signal: AbortSignal.timeout(500),
  })
  expect(outcome.state).toBe('searching')
  expect(founder.swarm.counters().connected).toBe(0)
})
