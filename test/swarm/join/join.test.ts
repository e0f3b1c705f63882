// Two and three real nodes on loopback.

import { afterEach, describe, expect, test } from 'vitest'
import { publicKeyOf } from '../../../protocol/wire/index.ts'
import { multicast } from '../addresses/multicast.ts'
import { draft, freshIdentity, startNode, stopNodes, until } from '../helpers.ts'

afterEach(stopNodes)

describe('joining', () => {
  test('by address: groups then flow both ways, verified and with rewards made here', async () => {
    const a = await startNode()
    const b = await startNode()
    const outcome = await b.swarm.join(a.address)
    expect(outcome).toMatchObject({ state: 'connected', peerId: a.swarm.peerId, already: false })
    await until('gossip links', () => [a, b].every(({ swarm }) => swarm.peers().some((peer) => peer.mesh)))
    await b.swarm.publish(draft(1))
    await a.swarm.publish(draft(2))
    await until('both groups', () => a.groups.length === 1 && b.groups.length === 1)
    expect(a.groups[0]).toMatchObject({
      author: b.swarm.peerId,
      prompt: { seed: 1 },
      arm: 'base',
      rollouts: [{ reward: 1 }, { reward: 0 }, { reward: 1 }, { reward: 0 }],
    })
    expect(Array.from(a.groups[0]!.conditioning)).toEqual(Array.from('1 + 0', (c) => c.charCodeAt(0)))
    const [view] = a.swarm.peers()
    expect(view).toMatchObject({ connected: true, how: 'direct', published: 1, verified: 1, refusedTotal: 0 })
    expect((await b.swarm.join(a.address)).already).toBe(true)
  })

  test.runIf(multicast)('by nothing but a peer ID, over mDNS on loopback', async () => {
    const a = await startNode({ lan: 'ask', swarm: 'mdns-test' })
    const b = await startNode({ lan: 'ask', swarm: 'mdns-test' })
    const outcome = await b.swarm.join(a.swarm.peerId, { signal: AbortSignal.timeout(15_000) })
    expect(outcome).toMatchObject({ state: 'connected', peerId: a.swarm.peerId })
    expect(b.swarm.peers()[0]).toMatchObject({ id: a.swarm.peerId, how: 'mdns', wanted: true })
  })

  test('a missing peer is searched for, with progress, until the caller gives up', async () => {
    const { swarm } = await startNode()
    const absent = freshIdentity().peerId
    const told: string[] = []
    const outcome = await swarm.join(absent, {
      signal: AbortSignal.timeout(600),
      onProgress: ({ message }) => told.push(message),
    })
    expect(outcome).toMatchObject({ state: 'searching', peerId: absent })
    expect(told[0]).not.toContain('undefined')
    expect(told[0]).toMatch(/^searching for \w+-\w+ among known addresses: no address known yet$/)
    expect(swarm.peers().find((peer) => peer.id === absent)?.connected ?? false).toBe(false)
  })

  test('a node that starts later is found by one that was searching for it', async () => {
    const late = freshIdentity()
    const { address } = await startNode()
    const port = Number(/tcp\/(\d+)/.exec(address)![1])
    await stopNodes()
    const b = await startNode()
    const joining = b.swarm.join(`/ip4/127.0.0.1/tcp/${port}/p2p/${late.peerId}`)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await startNode({ listen: [`/ip4/127.0.0.1/tcp/${port}`] }, { identity: late })
    expect(await joining).toMatchObject({ state: 'connected', peerId: late.peerId })
  })

  for (const [input, hint] of [
    ['', /Give a peer ID/],
    ['otter', /Give a peer ID/],
    ['\u001b[2J', /Give a peer ID/],
    ['12D3KooWRawPbxPtP1eZaJpumGnyWX2DcUyd3RQnydr3eAto4Az', /51 characters/],
    ['QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N', /another kind/],
    ['/ip4/1.2.3/tcp/1', /An address looks like/],
    ['/ip4/127.0.0.1/tcp/1/p2p/otter', /An address looks like|Give a peer ID/],
  ] as const) {
    test(`"${JSON.stringify(input).slice(1, 30)}" is refused with a hint`, async () => {
      const { swarm } = await startNode()
      await expect(swarm.join(input)).rejects.toMatchObject({
        code: 'E_PEER',
        hint: expect.stringMatching(hint),
      })
    })
  }

  test('its own ID is refused', async () => {
    const { swarm } = await startNode()
    await expect(swarm.join(swarm.peerId)).rejects.toMatchObject({ code: 'E_PEER' })
    expect(publicKeyOf(swarm.peerId)).toBeDefined()
  })
})

test('a port that is in use is reported as such', async () => {
  const { address } = await startNode()
  const listen = [/^(.*)\/p2p/.exec(address)![1]!]
  await expect(startNode({ listen })).rejects.toMatchObject({
    code: 'E_PORT',
    message: expect.stringContaining('in use'),
  })
})

test('a node that left accepts nobody until it joins again', async () => {
  const a = await startNode()
  const b = await startNode()
  await b.swarm.join(a.address)
  await a.swarm.leave()
  await until('the link to go down', () => a.swarm.counters().connected === 0)
  await until('that to be noticed', () => b.swarm.counters().connected === 0)
  const dialled = await b.swarm.join(a.address, { signal: AbortSignal.timeout(400) })
  expect(dialled).toMatchObject({ state: 'searching', peerId: a.swarm.peerId })
  expect(a.swarm.counters().connected).toBe(0)
  expect(await a.swarm.join(b.address)).toMatchObject({ state: 'connected' })
})

test('groups reach a node that is not connected to their author, and keep their author', async () => {
  const a = await startNode()
  const hub = await startNode()
  const b = await startNode()
  await a.swarm.join(hub.address)
  await b.swarm.join(hub.address)
  await until('links', () => hub.swarm.peers().filter((peer) => peer.mesh).length === 2)
  await a.swarm.publish(draft(9))
  await until('the group', () => b.groups.length === 1)
  expect(b.groups[0]!.author).toBe(a.swarm.peerId)
})
