// A hostile peer beside an honest one, over real connections. What it sends must never count, it must be cut off when it
// offends, and the honest peer's groups must go on arriving.

import { multiaddr } from '@multiformats/multiaddr'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reason } from '../../../daemon/swarm/admission/reasons.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { packLogprobs, writeCbor } from '../../../protocol/wire/index.ts'
import { codec, draft, freshIdentity, startNode, stopNodes, type TestNode, until } from '../helpers.ts'
import {
  type Attacker,
  lengthPrefixed,
  publish,
  signedBody,
  signedGroup,
  startAttacker,
  startRawAttacker,
  stopAttackers,
} from './attacker.ts'

let victim: TestNode
let honest: TestNode

beforeEach(async () => {
  victim = await startNode()
  honest = await startNode()
  await honest.swarm.join(victim.address)
  await until('gossip', () => victim.swarm.peers().some((peer) => peer.mesh))
})
afterEach(async () => {
  await stopAttackers()
  await stopNodes()
})

async function honestGroupsArrive(seed: number): Promise<void> {
  await honest.swarm.publish(draft(seed))
  await until('the honest group', () => victim.groups.some((group) => group.prompt.seed === seed))
  expect(victim.swarm.peers().find(({ id }) => id === honest.swarm.peerId)).toMatchObject({
    connected: true,
    refusedTotal: 0,
    score: 0,
  })
}

const isConnected = (attacker: { peerId: { toString(): string } }) =>
  victim.swarm.peers().some(({ id, connected }) => connected && id === attacker.peerId.toString())

describe('lies never count', () => {
  const { signer } = freshIdentity()
  const valid = (seed: number) => draft(seed, { salt: 'mallory' })
  const lies: Array<[string, Reason, (i: number) => Uint8Array]> = [
    ['a reward of its own', 'schema', (i) => signedBody(writeCbor({ reward: i }), signer)],
    [
      'log-probs of certainty',
      'forged',
      (i) => {
        const group = valid(100 + i)
        // All codes zero, signed anew: what an author who writes its own messages can do.
        const body = Buffer.from(signedGroup(group, signer).subarray(100))
        const codes = Buffer.from(packLogprobs(group.rollouts[0]!.behaviourLogprobs!))
        body.fill(0, body.indexOf(codes), body.indexOf(codes) + codes.length)
        return signedBody(body, signer)
      },
    ],
    ['another’s name', 'signature', (i) => signedGroup(valid(100 + i), signer).fill(7, 4, 36)],
    ['a held-out prompt', 'heldOut', (i) => signedGroup(at({ seed: HELD_OUT_SEED + i }), signer)],
  ]
  const at = (prompt: object) => ({ ...valid(1), prompt: { ...valid(1).prompt, ...prompt } })
  for (const [what, reason, make] of lies) {
    test(`${what}: rejected as ${reason}, and the peer is cut off after four or five`, async () => {
      const attacker = await startAttacker(victim.address)
      for (let i = 0; i < 8; i++) await publish(attacker, make(i))
      await until('the cut', () => !isConnected(attacker))
      const { refused } = victim.swarm.counters()
      expect(Object.keys(refused)).toEqual([reason])
      expect(refused[reason]).toBeLessThanOrEqual(5)
      await honestGroupsArrive(500)
      expect(victim.groups.length).toBe(1)
      await attacker.dial(multiaddr(victim.address)).catch(() => {})
      await until('that it is shown out', () => attacker.getConnections().length === 0)
      expect(isConnected(attacker)).toBe(false)
    })
  }

  test('wrong answers whose tokens decode differently score nothing and do no harm', async () => {
    const attacker = await startAttacker(victim.address)
    const wrong = valid(200)
    for (const rollout of wrong.rollouts) {
      rollout.text = rollout.text.replace(/<answer>.*/, '<answer>999999</answer> reward: 1.0')
      rollout.tokens = codec.encodeCompletion(rollout.text, 'stop')
      rollout.segments = [{ version: 1, start: 0, length: rollout.tokens.length }]
      delete rollout.behaviourLogprobs
    }
    await publish(attacker, signedGroup(wrong, signer))
    const other = valid(201)
    other.rollouts[0]!.tokens![5] = 1
    await publish(attacker, signedGroup(other, signer))
    await until('both verdicts', () => {
      const { refused } = victim.swarm.counters()
      return refused.zeroSignal === 1 && refused.tokens === 1
    })
    expect(victim.groups).toEqual([])
    await honestGroupsArrive(501)
  })

  test('a copy of a known peer’s group counts once, for its author', async () => {
    await victim.swarm.join(honest.address)
    const attacker = await startAttacker(victim.address)
    await honestGroupsArrive(502)
    const copy = draft(502)
    for (const rollout of copy.rollouts) rollout.text = `\u200b${rollout.text} `
    for (const rollout of copy.rollouts) delete rollout.tokens
    for (const rollout of copy.rollouts) delete rollout.behaviourLogprobs
    await publish(attacker, signedGroup(copy, signer))
    await until('the verdict', () => victim.swarm.counters().refused.copy === 1)
    expect(victim.groups.map(({ author }) => author)).toEqual([honest.swarm.peerId])
  })
})

describe('floods and nonsense on the gossip stream', () => {
  test('a flood of valid messages: few are decoded, the sender is cut off, honest groups arrive', async () => {
    const attacker: Attacker = await startAttacker(victim.address)
    const { signer } = freshIdentity()
    const frames = Array.from({ length: 6000 }, (_, i) => {
      const bytes = signedGroup(draft(i, { salt: 'flood' }), signer)
      return i < 400 ? bytes : bytes.slice(0, bytes.length - 1 - (i % 50))
    })
    for (const frame of frames) void publish(attacker, frame)
    await until('the cut', () => !isConnected(attacker))
    expect(victim.swarm.counters().received).toBeLessThanOrEqual(256)
    await honestGroupsArrive(503)
  })

  test('RPCs that cannot be decoded', async () => {
    const { node, stream } = await startRawAttacker(victim.address)
    for (let i = 0; i < 20 && stream.status === 'open'; i++) {
      try {
        stream.send(lengthPrefixed(Uint8Array.of(0xff, 0xff, 0xff, i)))
      } catch {}
    }
    await until('the cut', () => !isConnected(node))
    await honestGroupsArrive(504)
  })

  test('a frame that says it has 2 GiB', async () => {
    const { node, stream } = await startRawAttacker(victim.address)
    stream.send(lengthPrefixed(new Uint8Array(10), 2 ** 31))
    await until('the cut', () => !isConnected(node), 2000)
    expect(victim.swarm.counters().refused).toEqual({ size: 1 })
    await honestGroupsArrive(505)
  })

  test('a back-off of 2^53 seconds, and subscriptions to a thousand other topics', async () => {
    const { stream } = await startRawAttacker(victim.address)
    const topic = Buffer.from('/waggle/1/test/groups')
    // control { prune { topicID, backoff } }
    const prune = Buffer.concat([
      Buffer.from([0x0a, topic.length]),
      topic,
      Buffer.from([0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    ])
    const control = Buffer.concat([Buffer.from([0x22, prune.length]), prune])
    stream.send(lengthPrefixed(Buffer.concat([Buffer.from([0x1a, control.length]), control])))
    for (let i = 0; i < 1000; i++) {
      const name = Buffer.from(`topic-${i}`)
      const subscription = Buffer.concat([Buffer.from([0x08, 0x01, 0x12, name.length]), name])
      stream.send(lengthPrefixed(Buffer.concat([Buffer.from([0x0a, subscription.length]), subscription])))
    }
    await honestGroupsArrive(506)
  })
})
