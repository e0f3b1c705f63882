// What gossip does not bring: groups missed while away, groups too large for it, rules, contacts, memory.

import { afterEach, describe, expect, test } from 'vitest'
import { decodeInvite, formatPsk, makePsk, parsePsk } from '../../../daemon/swarm/index.ts'
import { decodeFetch, encodeHello, FETCH_PROTOCOL, HELLO_PROTOCOL } from '../../../protocol/wire/index.ts'
import {
  draft,
  freshDatastore,
  freshIdentity,
  startNode,
  stopNodes,
  type TestNode,
  until,
} from '../helpers.ts'
import { startParty, unhex } from '../interop/session.ts'

afterEach(stopNodes)

const linked = (...nodes: TestNode[]) =>
  until('gossip links', () => nodes.every(({ swarm }) => swarm.peers().some((peer) => peer.mesh)))
const seeds = (node: TestNode) => node.groups.map(({ prompt }) => prompt.seed).sort((a, b) => a - b)
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

test('bytes to and from a peer are counted on both sides, by gossip and over streams', async () => {
  const a = await startNode({ maxCompletionTokens: 50_000 })
  const b = await startNode({ maxCompletionTokens: 50_000 })
  const moved = (of: TestNode, peer: TestNode) => {
    const view = of.swarm.peers().find(({ id }) => id === peer.swarm.peerId)!
    return { in: view.bytesIn, out: view.bytesOut }
  }
  await b.swarm.join(a.address)
  await linked(a, b)
  const before = moved(a, b)
  const small = await a.swarm.publish(draft(1))
  await until('the gossiped group', () => b.groups.length === 1)
  const between = moved(a, b)
  expect(between.out - before.out).toBeGreaterThan(small.bytes)
  expect(between.out - before.out).toBeLessThan(small.bytes + 1000)
  const large = await a.swarm.publish(draft(2, { salt: 'x'.repeat(30_000) }))
  await until('the fetched group', () => b.groups.length === 2)
  expect(moved(a, b).out - between.out).toBeGreaterThan(large.bytes)
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    // Gossip’s length prefixes are in one and not in the other; and what is under way is not there yet.
    const [sent, got] = [moved(one, other).out, moved(other, one).in]
    expect(Math.abs(sent - got)).toBeLessThan(1000)
    expect(one.swarm.counters()).toMatchObject({ bytesOut: sent, bytesIn: moved(one, other).in })
  }
})

describe('catching up', () => {
  test('a node that joins late gets groups published before', async () => {
    const a = await startNode()
    for (const seed of range(0, 100)) await a.swarm.publish(draft(seed))
    const b = await startNode()
    await b.swarm.join(a.address)
    await until('all groups', () => b.groups.length === 100)
    expect(seeds(b)).toEqual(range(0, 100))
  })

  test('a node that was away gets each missed group once, from any peer that has it', async () => {
    const a = await startNode()
    const c = await startNode()
    await c.swarm.join(a.address)
    const identity = freshIdentity()
    const datastore = await freshDatastore()
    const b = await startNode({}, { identity, datastore })
    await b.swarm.join(a.address)
    await linked(a, b, c)
    await a.swarm.publish(draft(1))
    await until('the first', () => b.groups.length === 1)
    await b.swarm.stop()
    for (const seed of range(10, 30)) await a.swarm.publish(draft(seed))
    await until('the witness', () => c.groups.length === 21)
    await a.swarm.stop()
    const again = await startNode({}, { identity, datastore })
    await again.swarm.join(c.address)
    await until('the missed ones', () => again.groups.length === 20)
    expect(seeds(again)).toEqual(range(10, 30))
    expect(again.groups.every(({ author }) => author === a.swarm.peerId)).toBe(true)
  })

  test('a group too large for gossip is announced and fetched, also by a node that its author is not connected to', async () => {
    const a = await startNode({ maxCompletionTokens: 50_000 })
    const hub = await startNode({ maxCompletionTokens: 50_000 })
    const b = await startNode({ maxCompletionTokens: 50_000 })
    await a.swarm.join(hub.address)
    await linked(a, hub)
    await b.swarm.join(hub.address)
    await linked(b)
    const large = draft(7, { salt: 'x'.repeat(30_000) })
    const published = await a.swarm.publish(large)
    expect(published.announced).toBe(true)
    expect(published.bytes).toBeGreaterThan(65_536)
    await until('the group', () => hub.groups.length === 1 && b.groups.length === 1)
    expect(b.groups[0]).toMatchObject({ author: a.swarm.peerId, prompt: { seed: 7 } })
  })

  test('a node asks for its own tasks, a relay for all', async () => {
    const asked = async (options: { relay?: boolean }) => {
      const tasks = [{ name: 'sums', version: 1 }]
      const hello = encodeHello({ swarm: 'test', tasks, contacts: [] })
      const other = await startParty({ [HELLO_PROTOCOL]: () => [hello] })
      try {
        const node = await startNode({ tasks, ...options })
        await node.swarm.join(other.address)
        await until('the question', () => other.heard[FETCH_PROTOCOL]!.length > 0)
        return decodeFetch(unhex(other.heard[FETCH_PROTOCOL]![0]!))
      } finally {
        await other.node.stop()
      }
    }
    expect(await asked({})).toMatchObject({ list: { tasks: ['sums'] } })
    expect(await asked({ relay: true })).toMatchObject({ list: { tasks: [] } })
  })

  test('a group that no receiver would take cannot be sent', async () => {
    const { swarm } = await startNode()
    await expect(swarm.publish(draft(7, { salt: 'x'.repeat(66_000) }))).rejects.toMatchObject({
      code: 'E_WIRE',
    })
  })
})

test('a completion with a special token in the middle is shared as text only, and its group is accepted', async () => {
  const a = await startNode()
  const b = await startNode()
  await b.swarm.join(a.address)
  await linked(a, b)
  const group = draft(40)
  const { tokens, segments } = group.rollouts[1]!
  tokens![4] = 0x1ffff
  group.rollouts[1]!.text = group.rollouts[1]!.text.slice(0, 4) + group.rollouts[1]!.text.slice(5)
  await a.swarm.publish(group)
  await until('the group', () => b.groups.length === 1)
  const { rollouts } = b.groups[0]!
  expect(rollouts.map(({ behaviourLogprobs }) => behaviourLogprobs !== undefined)).toEqual([
    true,
    false,
    true,
    true,
  ])
  expect(rollouts[1]).toMatchObject({ text: group.rollouts[1]!.text, tokens: { length: tokens!.length - 1 } })
  expect(rollouts[0]!.tokens).toEqual(group.rollouts[0]!.tokens)
  expect(segments[0]!.length).toBe(tokens!.length)
})

describe('rules', () => {
  const others = [{ name: 'sums', version: 2 }]
  test('other task versions are named, and the peers part', async () => {
    const a = await startNode({ tasks: [{ name: 'sums', version: 1 }] })
    const b = await startNode({ tasks: others })
    await expect(b.swarm.join(a.address)).rejects.toMatchObject({
      code: 'E_SWARM_RULES',
      message: expect.stringContaining('sums 1 (here 2)'),
    })
    await until(
      'both to part',
      () => a.swarm.counters().connected === 0 && b.swarm.counters().connected === 0,
    )
    expect(a.events).toContainEqual(
      expect.objectContaining({ type: 'notice', message: expect.stringContaining('sums 2 (here 1)') }),
    )
  })

  test('a peer that comes back with the same rules ends the notice of other ones', async () => {
    const identity = freshIdentity()
    const a = await startNode({ tasks: [{ name: 'sums', version: 1 }] })
    const old = await startNode({ tasks: others }, { identity })
    await expect(old.swarm.join(a.address)).rejects.toMatchObject({ code: 'E_SWARM_RULES' })
    const key = `rules-${identity.peerId}`
    await until('the notice', () => a.events.some((event) => event.type === 'notice' && event.key === key))
    await old.swarm.stop()
    const upgraded = await startNode({ tasks: [{ name: 'sums', version: 1 }] }, { identity })
    await upgraded.swarm.join(a.address)
    await until('its end', () => a.events.some((event) => event.type === 'over' && event.key === key))
  })

  test('another swarm is named', async () => {
    const a = await startNode({ swarm: 'one' })
    const b = await startNode({ swarm: 'two' })
    await expect(b.swarm.join(a.address)).rejects.toMatchObject({
      code: 'E_SWARM_RULES',
      message: expect.stringContaining('swarm "one", this node in "two"'),
    })
  })

  test('one task in common is enough', async () => {
    const a = await startNode({ tasks: [{ name: 'sums', version: 1 }] })
    const b = await startNode({
      tasks: [...others, { name: 'sums', version: 1 }, { name: 'more', version: 3 }],
    })
    expect(await b.swarm.join(a.address)).toMatchObject({ state: 'connected' })
  })
})

test('nodes that joined through one contact find each other, and outlive it', async () => {
  const contact = await startNode()
  const a = await startNode()
  const b = await startNode()
  await a.swarm.join(contact.address)
  await until('identify', () => contact.swarm.peers().some((peer) => peer.mesh))
  await b.swarm.join(contact.address)
  await until('a direct link', () =>
    b.swarm.peers().some(({ id, connected }) => connected && id === a.swarm.peerId),
  )
  await contact.swarm.stop()
  await linked(a, b)
  await a.swarm.publish(draft(3))
  await until('the group', () => b.groups.length === 1)
})

describe('private swarms', () => {
  test('with the same key nodes meet; without it, or with another, they do not', async () => {
    const key = makePsk()
    const a = await startNode({ psk: key })
    const b = await startNode({ psk: key })
    expect(await b.swarm.join(a.address)).toMatchObject({ state: 'connected' })
    for (const options of [{}, { psk: makePsk() }]) {
      const stranger = await startNode(options)
      const outcome = await stranger.swarm.join(a.address, { signal: AbortSignal.timeout(500) })
      expect(outcome.state).toBe('searching')
    }
    expect(a.swarm.counters().connected).toBe(1)
  })

  test('a peer that is not on the list is refused', async () => {
    const friend = freshIdentity()
    const a = await startNode({ allow: [friend.peerId] })
    const b = await startNode({}, { identity: friend })
    expect(await b.swarm.join(a.address)).toMatchObject({ state: 'connected' })
    const stranger = await startNode()
    await stranger.swarm.join(a.address, { signal: AbortSignal.timeout(500) }).catch(() => {})
    expect(a.swarm.peers().some(({ id, connected }) => connected && id === stranger.swarm.peerId)).toBe(false)
  })
})

test('joined peers are rejoined after a restart', async () => {
  const a = await startNode()
  const identity = freshIdentity()
  const datastore = await freshDatastore()
  const b = await startNode({}, { identity, datastore })
  await b.swarm.join(a.address)
  await b.swarm.stop()
  const again = await startNode({}, { identity, datastore })
  await until('the link', () => again.swarm.counters().connected === 1, 5000)
})

test('two nodes with one identity are noticed', async () => {
  const identity = freshIdentity()
  const hub = await startNode()
  const original = await startNode({}, { identity })
  const copy = await startNode({}, { identity })
  await original.swarm.join(hub.address)
  await original.swarm.publish(draft(1))
  await until('the first', () => hub.groups.length === 1)
  await copy.swarm.join(hub.address)
  await until('the notice', () =>
    copy.events.some((event) => event.type === 'notice' && event.key === 'identity-copied'),
  )
})

test('a muted author’s groups are ignored, after a restart as well, and heard again when unmuted', async () => {
  const a = await startNode()
  const identity = freshIdentity()
  const datastore = await freshDatastore()
  const b = await startNode({}, { identity, datastore })
  await b.swarm.join(a.address)
  await linked(a, b)
  b.swarm.mute(a.swarm.peerId, true)
  await a.swarm.publish(draft(1))
  await until('the refusal', () => b.swarm.counters().refused.muted === 1)
  await b.swarm.stop()
  const again = await startNode({}, { identity, datastore })
  await until('the link', () => again.swarm.peers().some((peer) => peer.mesh))
  expect(again.swarm.peers().find(({ id }) => id === a.swarm.peerId)?.muted).toBe(true)
  again.swarm.mute(a.swarm.peerId, false)
  await a.swarm.publish(draft(2))
  await until('the group', () => again.groups.some(({ prompt }) => prompt.seed === 2))
})

describe('invites', () => {
  test('one string is enough to join, and names a private swarm’s key', async () => {
    const psk = makePsk()
    const a = await startNode({ psk })
    const invite = await a.swarm.invite()
    expect(decodeInvite(invite)).toMatchObject({ swarm: 'test', contacts: [{ peerId: a.swarm.peerId }], psk })
    const b = await startNode({ psk: decodeInvite(invite).psk! })
    expect(await b.swarm.join(invite)).toMatchObject({ state: 'connected', peerId: a.swarm.peerId })
  })

  test('an invite’s contacts are used when the inviting node is away', async () => {
    const contact = await startNode()
    const a = await startNode()
    await a.swarm.join(contact.address)
    await until('identify', () => a.swarm.peers().some((peer) => peer.mesh))
    const invite = await a.swarm.invite()
    await a.swarm.stop()
    const b = await startNode()
    expect(await b.swarm.join(invite)).toMatchObject({ state: 'connected', peerId: contact.swarm.peerId })
  })

  test('a mismatch is reported', async () => {
    const a = await startNode()
    const invite = await a.swarm.invite()
    const elsewhere = await startNode({ swarm: 'elsewhere' })
    const secret = await startNode({ psk: makePsk() })
    await expect(elsewhere.swarm.join(invite)).rejects.toMatchObject({ code: 'E_SWARM_RULES' })
    await expect(secret.swarm.join(invite)).rejects.toMatchObject({ code: 'E_SWARM_RULES' })
    await expect(a.swarm.join(invite)).rejects.toMatchObject({ code: 'E_PEER' })
    await expect(elsewhere.swarm.join(invite.slice(0, -3))).rejects.toMatchObject({
      code: 'E_PEER',
      message: expect.stringContaining('checksum'),
    })
  })

  test('a swarm’s key survives its text form; other text does not pass for one', () => {
    const psk = makePsk()
    expect(parsePsk(formatPsk(psk))).toEqual(psk)
    expect(() => parsePsk(formatPsk(psk).slice(0, -4))).toThrow(expect.objectContaining({ code: 'E_CONFIG' }))
  })
})
