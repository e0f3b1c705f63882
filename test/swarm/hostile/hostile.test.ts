// Strangers that use what honest nodes do for one another against them: relaying, fetching, catching up.

import { afterEach, describe, expect, test } from 'vitest'
import { encodeAnnouncement, FETCH_PROTOCOL } from '../../../protocol/wire/index.ts'
import { draft, freshIdentity, startNode, stopNodes, type TestNode, until } from '../helpers.ts'
import { publish, signedGroup, startAttacker, stopAttackers } from './attacker.ts'

afterEach(async () => {
  await stopAttackers()
  await stopNodes()
})

const linked = (...nodes: TestNode[]) =>
  until('gossip links', () => nodes.every(({ swarm }) => swarm.peers().some((peer) => peer.mesh)))

describe('behind an honest relay', () => {
  test('groups of a difficulty that does not exist cost their author, and not the relay that cannot know', async () => {
    const relay = await startNode({ relay: true }, { tasks: { find: () => undefined } })
    const [a, b] = [await startNode(), await startNode()]
    await a.swarm.join(relay.address)
    await b.swarm.join(relay.address)
    await until('both in its mesh', () => relay.swarm.peers().filter((peer) => peer.mesh).length === 2)
    const attacker = await startAttacker(relay.address)
    const { signer, peerId } = freshIdentity()
    for (let i = 0; i < 8; i++) {
      const group = draft(i)
      group.prompt.difficulty = 99
      await publish(attacker, signedGroup(group, signer))
    }
    await until(
      'the verdict',
      () => [a, b].every(({ swarm }) => swarm.peers().some(({ id, muted }) => id === peerId && muted)),
      30_000,
    )
    for (const { swarm } of [a, b])
      expect(swarm.peers().find(({ id }) => id === relay.swarm.peerId)).toMatchObject({
        connected: true,
        score: 0,
      })
    await linked(a, b)
    await a.swarm.publish(draft(500))
    await until('the honest group', () => b.groups.some(({ prompt }) => prompt.seed === 500))
  }, 60_000)
})

test('announcements of bodies that never come keep no honest one from being fetched', async () => {
  const victim = await startNode({ maxCompletionTokens: 50_000 })
  const honest = await startNode({ maxCompletionTokens: 50_000 })
  await honest.swarm.join(victim.address)
  await linked(victim, honest)
  const attacker = await startAttacker(victim.address)
  // It takes the question and says nothing.
  await attacker.handle(FETCH_PROTOCOL, () => {})
  for (let i = 0; i < 81; i++) {
    const { signer } = freshIdentity()
    const facts = {
      hash: i.toString(16).padStart(64, '0'),
      size: 100_000,
      sequence: i,
      createdAt: Date.now(),
    }
    await publish(attacker, encodeAnnouncement({ ...facts, prompt: draft(i).prompt }, signer))
  }
  for (let seed = 0; seed < 15; seed++)
    await honest.swarm.publish(draft(1000 + seed, { salt: 'x'.repeat(30_000) }))
  await until('the honest groups', () => victim.groups.length === 15, 60_000)
}, 120_000)
