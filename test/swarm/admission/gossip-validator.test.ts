// What is counted before anything is decoded: who is dealt with, who is read from later, and who is cut off.

import { TopicValidatorResult } from '@libp2p/gossipsub'
import { describe, expect, test } from 'vitest'
import { Admission } from '../../../daemon/swarm/admission/admission.ts'
import { GossipValidator } from '../../../daemon/swarm/admission/gossip-validator.ts'
import { Turns } from '../../../daemon/swarm/admission/turns.ts'
import { Verifier } from '../../../daemon/swarm/admission/verify.ts'
import { PeerRecords } from '../../../daemon/swarm/peers/records.ts'
import { Reputation } from '../../../daemon/swarm/peers/reputation.ts'
import { encodeGroup, peerIdOf } from '../../../protocol/wire/index.ts'
import { testSigner } from '../../protocol/wire/cases.ts'
import { codec, draft, stillClock, tasks } from '../groups.ts'

function make({ joined }: { joined?: string } = {}) {
  const clock = stillClock()
  const records = new PeerRecords({}, { clock })
  const cuts: string[] = []
  const slowed: Array<[string, number]> = []
  const told: string[] = []
  const reputation = new Reputation({}, { clock, onCut: (peer, reason) => cuts.push(`${peer} ${reason}`) })
  const isJoined = (author: string) => author === joined
  const groups: string[] = []
  const due: Array<() => void> = []
  const by = {
    ...{ tasks, codec, records, clock, version: () => 0, isMuted: () => false, onImpostor: () => {} },
    isKnown: isJoined,
  }
  const validator = new GossipValidator(
    {},
    {
      admission: new Admission({ self: 'me', arms: ['base'] }, by),
      verifier: new Verifier({ maxCompletionTokens: 100 }, by),
      records,
      reputation,
      clock,
      log: () => {},
      isTrainedElsewhere: ({ author }) => isJoined(author),
      isKnown: isJoined,
      soon: (run) => due.push(run),
      onGroup: ({ author }) => groups.push(author),
      onEvent: (event) => told.push('reason' in event ? `${event.type}: ${event.reason}` : event.type),
      onAdmitted: () => {},
      onAnnounced: () => {},
      isBehind: () => false,
      forget: () => {},
      slow: (peer, ms) => slowed.push([peer, ms]),
    },
  )
  const message = (peer: string) =>
    validator.guard.frame(peer, 600) && validator.guard.rpc(peer, { messages: 1, control: 0 })
  const settle = () => {
    while (due.length > 0) due.shift()!()
  }
  return { clock, records, reputation, cuts, slowed, told, groups, settle, validator, message }
}

test('a turn of the event loop has room for so many messages, and there are no turns without messages', () => {
  const due: Array<() => void> = []
  const turns = new Turns<void>({ perTurn: 2, limit: 100 }, { costOf: () => 1, soon: (run) => due.push(run) })
  let done = 0
  for (let i = 0; i < 7; i++)
    void turns.take(
      'peer',
      () => void done++,
      () => {},
    )
  const after: number[] = [done]
  for (let turn = 0; turn < 10 && due.length > 0; turn++) {
    expect(due.length).toBe(1)
    due.shift()!()
    after.push(done)
  }
  expect(after).toEqual([2, 4, 6, 7, 7])
})

test('whatever waits is dropped when all ends', async () => {
  const turns = new Turns<string>({ perTurn: 1, limit: 6 }, { costOf: () => 1 })
  const take = () =>
    turns.take(
      'peer',
      () => 'done',
      () => 'dropped',
    )
  const all = [take(), take(), take()]
  turns.close()
  expect(await Promise.all(all)).toEqual(['done', 'dropped', 'dropped'])
})

test('an error in what a message causes reaches its caller, at once or after it waited', async () => {
  const turns = new Turns<void>({ perTurn: 1, limit: 6 }, { costOf: () => 1 })
  const fail = () => {
    throw new Error('it failed')
  }
  expect(() => turns.take('peer', fail, () => {})).toThrow('it failed')
  await turns.take(
    'peer',
    () => {},
    () => {},
  )
  await expect(turns.take('peer', fail, () => {})).rejects.toThrow('it failed')
})

test('a peer that sends much waits for itself and hardly delays one that sends little', async () => {
  const turns = new Turns<void>({ perTurn: 2, limit: 6 }, { costOf: () => 1 })
  const order: string[] = []
  const take = (owner: string, name: string) =>
    turns.take(
      owner,
      () => void order.push(name),
      () => void order.push(`${name} dropped`),
    )
  for (let i = 0; i < 8; i++) void take('flooder', `f${i}`)
  expect(order).toEqual(['f0', 'f1'])
  void take('honest', 'h0')
  await take('other', 'o0')
  // Seven waited, and then eight.
  expect(order).toEqual(
    ['f0', 'f1', 'f2 dropped', 'f3 dropped', 'f4', 'h0', 'o0', 'f5'].slice(0, order.length),
  )
  await take('flooder', 'f8')
  expect(order.slice(4)).toEqual(['f4', 'h0', 'o0', 'f5', 'f6', 'f7', 'f8'])
  await new Promise(setImmediate)
  void take('honest', 'h1')
  expect(order.at(-1)).toBe('h1')
})

test('refusals that are routine are no event, and others are', () => {
  const { validator, told } = make()
  const signer = testSigner()
  const frame = encodeGroup({ ...draft(1), sequence: 1, createdAt: 1_800_000_000_000 }, signer)
  expect(validator.receive(frame, 'peer')).toBeUndefined()
  expect(validator.receive(frame, 'peer')).toBe('duplicate')
  expect(told).toEqual([])
  const old = encodeGroup({ ...draft(2), sequence: 2, createdAt: 1_000_000_000_000 }, signer)
  expect(validator.receive(old, 'peer')).toBe('stale')
  expect(told).toEqual(['refused: stale'])
})

describe('a group whose author this node averages weights with', () => {
  const signer = testSigner()
  const frame = encodeGroup({ ...draft(1), sequence: 1, createdAt: 1_800_000_000_000 }, signer)

  test('is forwarded and not verified', () => {
    const { validator, groups, settle } = make({ joined: peerIdOf(signer.publicKey) })
    expect(validator.validate('peer', { data: frame })).toBe(TopicValidatorResult.Accept)
    settle()
    expect(validator.verified).toBe(0)
    expect(groups).toEqual([])
  })

  test('is refused as a copy when another author sends its texts', () => {
    const { validator, told, groups, settle } = make({ joined: peerIdOf(signer.publicKey) })
    validator.receive(frame, 'peer')
    const other = testSigner(2)
    validator.receive(encodeGroup({ ...draft(1), sequence: 1, createdAt: 1_800_000_000_000 }, other), 'peer')
    settle()
    expect(groups).toEqual([])
    expect(told).toEqual(['refused: copy'])
  })

  test('is verified once its weights are no longer averaged', () => {
    const { validator, groups, settle } = make()
    validator.receive(frame, 'peer')
    settle()
    expect(groups).toEqual([peerIdOf(signer.publicKey)])
  })
})

describe('a flood', () => {
  test('is processed up to its quota, then paused, then cut off, without effect on other peers', () => {
    const { records, cuts, slowed, message } = make()
    let through = 0
    let sent = 0
    while (cuts.length === 0 && sent < 10_000) {
      sent++
      if (message('flooder')) through++
      if (sent === 250) for (let i = 0; i < 20; i++) expect(message('honest')).toBe(true)
    }
    expect(through).toBe(100)
    expect(sent).toBeLessThanOrEqual(601)
    expect(cuts).toEqual(['flooder flood'])
    expect(slowed.length).toBeGreaterThan(0)
    expect(slowed.every(([peer, ms]) => peer === 'flooder' && ms > 0)).toBe(true)
    expect(records.get('flooder')?.refused.get('quota')).toBe(sent - through)
    // What was under way is dropped undecoded.
    expect(message('flooder')).toBe(false)
  })

  test('from many is read from the later the more there are', () => {
    const wait = (sources: number) => {
      const { slowed, message } = make()
      for (let i = 0; i < 400; i++) for (let s = 0; s < sources; s++) message(`peer ${s}`)
      return Math.max(...slowed.filter(([peer]) => peer === 'peer 0').map(([, ms]) => ms))
    }
    expect(wait(8) / wait(1)).toBeGreaterThan(4)
  })

  test('messages that piled up while this node was stopped for half a minute are no flood', () => {
    const { clock, cuts, message } = make()
    clock.time += 30_000
    // 16 nodes with a group a second each, all through one peer.
    for (let i = 0; i < 480; i++) message('peer')
    expect(cuts).toEqual([])
  })

  test('of RPCs without a message, too', () => {
    const { cuts, validator } = make()
    let sent = 0
    for (; cuts.length === 0 && sent < 10_000; sent++) validator.guard.frame('flooder', 5)
    expect(sent).toBeLessThanOrEqual(4001)
  })
})
