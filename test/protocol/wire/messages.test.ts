// Announcements, hellos, fetch requests and invites: fixtures byte for byte, limits, and fuzz, one harness a message type.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { WaggleError } from '../../../protocol/errors.ts'
import {
  decodeAccusation,
  decodeAnnouncement,
  decodeBatch,
  decodeFetch,
  decodeHead,
  decodeHeadRequest,
  decodeHello,
  decodeInvite,
  decodeReceipt,
  decodeReceiptRequest,
  decodeState,
  decodeStateRequest,
  encodeAccusation,
  encodeAnnouncement,
  encodeBatch,
  encodeFetch,
  encodeHead,
  encodeHeadRequest,
  encodeHello,
  encodeInvite,
  encodeReceipt,
  encodeReceiptRequest,
  encodeState,
  encodeStateRequest,
  isAuthentic,
  MAX_HEAD_FRAME_BYTES,
  MAX_RECEIPT_BYTES,
  MAX_REQUESTED,
  MAX_STATE_BYTES,
  openFrame,
  peerIdOf,
  rulesDigest,
  rulesMismatch,
  splitHashes,
  WireFault,
  writeCbor,
} from '../../../protocol/wire/index.ts'
import { mutate, seeded } from './arbitrary.ts'
import { testSigner } from './cases.ts'
import { batch, newReceipt, receipt } from './receipts.ts'

function fixture(name: string): Buffer {
  const text = readFileSync(new URL(`fixtures/${name}.hex`, import.meta.url), 'utf8')
  return Buffer.from(text.replace(/\s/g, ''), 'hex')
}

const peerId = '12D3KooWRawPbxPtP1eZaJpumGnyWX2DcUyd3RQnydr3eAto4Az7'
const announcement = {
  prompt: { task: 'basic_arithmetic', taskVersion: 1, seed: 77, difficulty: 3 },
  hash: '5a'.repeat(32),
  size: 100_000,
  sequence: 1_700_000_000_001,
  createdAt: 1_700_000_000_000,
}
const accusation = {
  ...{ lineage: 'ab'.repeat(32), receipt: '5a'.repeat(32), size: 40_000, step: 3 },
  accused: peerIdOf(new Uint8Array(32).fill(3)),
  createdAt: 1_700_000_000_000,
}
const head = {
  lineage: 'ab'.repeat(32),
  hash: '5a'.repeat(32),
  size: 1_116_696,
  version: 84,
  own: 640,
  foreign: 4570,
  tasks: [
    { name: 'basic_arithmetic', difficulty: 1, accuracy: 0.4167 },
    { name: 'base_conversion', difficulty: 0, accuracy: 1 },
  ],
  createdAt: 1_700_000_000_000,
}
const rules = { swarm: 'test', tasks: [{ name: 'basic_arithmetic', version: 1 }] }
const contacts = [{ peerId, addresses: ['/ip4/192.0.2.7/tcp/4001', '/dns4/relay.example/tcp/4001'] }]
const invite = { swarm: 'test', contacts, rules: rulesDigest(rules), psk: new Uint8Array(32).fill(9) }

/** name -> bytes as we write them, a reader, and what it gives. */
const MESSAGES: Record<
  string,
  { written: () => Uint8Array; read(bytes: Uint8Array): unknown; value: unknown }
> = {
  announcement: {
    written: () => encodeAnnouncement(announcement, testSigner()),
    read: (bytes) => decodeAnnouncement(openFrame(bytes, 65_536)),
    value: { ...announcement, author: peerId },
  },
  accusation: {
    written: () => encodeAccusation(accusation, testSigner()),
    read: (bytes) => decodeAccusation(openFrame(bytes, 65_536)),
    value: { ...accusation, author: peerId },
  },
  head: {
    written: () => encodeHead(head, testSigner()),
    read: (bytes) => decodeHead(openFrame(bytes, MAX_HEAD_FRAME_BYTES)),
    value: { ...head, author: peerId },
  },
  'head-1.6': {
    written: () => encodeHead({ ...head, age: 4500 }, testSigner()),
    read: (bytes) => decodeHead(openFrame(bytes, MAX_HEAD_FRAME_BYTES)),
    value: { ...head, age: 4500, author: peerId },
  },
  'head-ask': {
    written: () => encodeHeadRequest({ lineage: head.lineage }),
    read: decodeHeadRequest,
    value: { lineage: head.lineage },
  },
  'head-get': {
    written: () => encodeHeadRequest({ head: head.hash, from: 2 }),
    read: decodeHeadRequest,
    value: { head: head.hash, from: 2 },
  },
  batch: { written: () => encodeBatch(batch)!, read: decodeBatch, value: batch },
  receipt: {
    written: () => encodeReceipt(receipt, testSigner()),
    read: (bytes) => decodeReceipt(openFrame(bytes, MAX_RECEIPT_BYTES)),
    value: { ...receipt, author: peerId },
  },
  'receipt-ask': {
    written: () => encodeReceiptRequest({ lineage: head.lineage }),
    read: decodeReceiptRequest,
    value: { lineage: head.lineage },
  },
  'receipt-get': {
    written: () => encodeReceiptRequest({ bytes: head.hash, from: 3 }),
    read: decodeReceiptRequest,
    value: { bytes: head.hash, from: 3 },
  },
  'receipt-1.4': {
    written: () => encodeReceipt(newReceipt, testSigner()),
    read: (bytes) => decodeReceipt(openFrame(bytes, MAX_RECEIPT_BYTES)),
    value: { ...newReceipt, author: peerId },
  },
  'hello-1.6': {
    written: () => encodeHello({ ...rules, contacts }),
    read: decodeHello,
    value: { ...rules, contacts, protocol: [1, 6] },
  },
  'state-request': {
    written: () => encodeStateRequest({ name: 'skill/book-of-2', version: 3 }),
    read: decodeStateRequest,
    value: { name: 'skill/book-of-2', version: 3 },
  },
  state: {
    written: () => encodeState(Uint8Array.of(0, 1, 254, 255)),
    read: decodeState,
    value: Uint8Array.of(0, 1, 254, 255),
  },
  'state-none': { written: () => encodeState(undefined), read: decodeState, value: undefined },
  'fetch-list': {
    written: () => encodeFetch({ list: { sinceMs: 60_000, tasks: ['basic_arithmetic'] } }),
    read: decodeFetch,
    value: { list: { sinceMs: 60_000, tasks: ['basic_arithmetic'] } },
  },
  'fetch-get': {
    written: () => encodeFetch({ get: ['01'.repeat(32), 'fe'.repeat(32)] }),
    read: decodeFetch,
    value: { get: ['01'.repeat(32), 'fe'.repeat(32)] },
  },
}

for (const [name, { written, read, value }] of Object.entries(MESSAGES)) {
  describe(name, () => {
    test('is written and read byte for byte', () => {
      const bytes = fixture(name)
      expect(Buffer.from(written()).toString('hex')).toBe(bytes.toString('hex'))
      expect(read(bytes)).toEqual(value)
    })

    test('6 000 mutations are read or refused with a fault, and nothing else', () => {
      const random = seeded(name.length)
      let read_ = 0
      for (let i = 0; i < 6_000; i++) {
        let bytes: Uint8Array = fixture(name)
        for (let n = 1 + (i % 3); n > 0 && bytes.length > 0; n--) bytes = mutate(bytes, random)
        try {
          read(bytes)
          read_++
        } catch (error) {
          expect(error).toBeInstanceOf(WireFault)
        }
      }
      expect(read_).toBeGreaterThan(0)
    })
  })
}

test('an announcement is signed, and only of what is too large for gossip', () => {
  expect(isAuthentic(openFrame(fixture('announcement'), 65_536))).toBe(true)
  const small = encodeAnnouncement({ ...announcement, size: 65_536 }, testSigner())
  expect(() => decodeAnnouncement(openFrame(small, 65_536))).toThrow(WireFault)
})

test('fields that a newer hello may have are skipped', () => {
  const newer = writeCbor({ protocol: [1, 7], swarm: 'test', tasks: [], contacts: [], colour: { r: 1 } })
  expect(decodeHello(newer)).toMatchObject({ swarm: 'test', protocol: [1, 7] })
})

test.each([
  ['1.0', 'hello', [1, 0]],
  ['1.1', 'hello-1.1', [1, 1]],
  ['1.2', 'hello-1.2', [1, 2]],
  ['1.3', 'hello-1.3', [1, 3]],
  ['1.4', 'hello-1.4', [1, 4]],
  ['1.5', 'hello-1.5', [1, 5]],
])('the hello of %s is read', (_, name, protocol) => {
  expect(decodeHello(fixture(name))).toEqual({ ...rules, contacts, protocol })
})

test('an accusation may be of the head, and not of a step that no receipt has', () => {
  const { step: _, ...ofHead } = accusation
  const read = (one: typeof ofHead) =>
    decodeAccusation(openFrame(encodeAccusation(one, testSigner()), 65_536))
  expect(read(ofHead)).toEqual({ ...ofHead, author: peerId })
  for (const change of [{ step: 16 }, { size: MAX_RECEIPT_BYTES + 1 }, { accused: 'nobody' }])
    expect(() => read({ ...accusation, ...change })).toThrow(WireFault)
})

describe('a head', () => {
  const withTasks = (tasks: unknown[]) =>
    encodeHead({ ...head, tasks: tasks as typeof head.tasks }, testSigner())
  const read = (bytes: Uint8Array) => decodeHead(openFrame(bytes, MAX_HEAD_FRAME_BYTES))

  test('is signed', () => {
    expect(isAuthentic(openFrame(fixture('head'), MAX_HEAD_FRAME_BYTES))).toBe(true)
  })

  test('may not be older than a year, and a clock that was set back makes none from the future', () => {
    const aged = (age: number) => read(encodeHead({ ...head, age }, testSigner())).age
    expect(aged(1e15)).toBe(366 * 24 * 3_600_000)
    expect(aged(-5)).toBe(0)
  })

  test('with as many tasks and as long names as there may be fits its frame', () => {
    const name = `t${'x'.repeat(63)}`
    const tasks = Array.from({ length: 64 }, () => ({ name, difficulty: -1_000_000, accuracy: 1 }))
    expect(read(withTasks(tasks)).tasks).toHaveLength(64)
  })

  test.each([
    ['an accuracy above one', { name: 'sums', difficulty: 1, accuracy: 1.5 }],
    ['an accuracy below zero', { name: 'sums', difficulty: 1, accuracy: -0.5 }],
    ['a name that is none', { name: '../sums', difficulty: 1, accuracy: 0.5 }],
    ['a difficulty out of range', { name: 'sums', difficulty: 2_000_000, accuracy: 0.5 }],
  ])('with %s is refused', (_, task) => {
    expect(() => read(withTasks([task]))).toThrow(WireFault)
  })

  test.each([0, 2 ** 31 + 1, -1])('of %s bytes is refused', (size) => {
    expect(() => read(encodeHead({ ...head, size }, testSigner()))).toThrow(WireFault)
  })
})

test('a name that is no plugin’s, and more state than one may have, are refused', () => {
  for (const state of [
    '',
    'skill',
    'skill/',
    '../etc',
    'Skill/x',
    `skill/${'x'.repeat(60)}`,
    'skill/\u001b[2J',
  ])
    expect(() => decodeStateRequest(writeCbor({ state, version: 1 }))).toThrow(WireFault)
  for (const version of [-1, 2 ** 32, '1', null])
    expect(() => decodeStateRequest(writeCbor({ state: 'skill/x', version }))).toThrow(WireFault)
  expect(() => decodeState(writeCbor({ bytes: new Uint8Array(MAX_STATE_BYTES + 1) }))).toThrow(WireFault)
  expect(() => decodeState(writeCbor({ bytes: 'text' }))).toThrow(WireFault)
})

test('more hashes than one request may have are refused', () => {
  expect(() => splitHashes(new Uint8Array(32 * (MAX_REQUESTED + 1)), MAX_REQUESTED)).toThrow(WireFault)
  expect(() => splitHashes(new Uint8Array(33), MAX_REQUESTED)).toThrow(WireFault)
})

describe('what differs in the rules is named', () => {
  const theirs = { ...rules, protocol: [1, 0] as [number, number] }
  test.each([
    [{}, undefined],
    [{ protocol: [2, 0] }, 'protocol 2'],
    [{ swarm: 'other' }, '"other"'],
    [{ tasks: [{ name: 'basic_arithmetic', version: 3 }] }, 'basic_arithmetic 3 (here 1)'],
    [{ tasks: [{ name: 'chess', version: 1 }] }, 'other tasks: chess'],
    [{ tasks: [...rules.tasks, { name: 'chess', version: 1 }] }, undefined],
    [{ tasks: [] }, undefined],
  ])('%j', (change, said) => {
    const why = rulesMismatch(rules, { ...theirs, ...change } as never)
    if (said === undefined) expect(why).toBeUndefined()
    else expect(why).toContain(said)
  })
})

describe('invites', () => {
  test('name STUN servers, of a form that is one', () => {
    const stun = ['192.0.2.7:3478', '[2001:db8::1]:3478', 'relay.example.org:3478']
    expect(decodeInvite(encodeInvite({ ...invite, stun }))).toEqual({ ...invite, stun })
    for (const bad of ['', 'relay', 'a b:1', 'x\u001b[2J:1', '-o:1', 'stun:x:1'])
      expect(() => decodeInvite(encodeInvite({ ...invite, stun: [bad] }))).toThrow(/STUN server/)
  })

  test('a relay, which has no tasks, suits everybody, and everybody suits it', () => {
    const relay = { swarm: 'test', tasks: [] }
    expect(rulesMismatch(relay, { ...rules, protocol: [1, 0] })).toBeUndefined()
    expect(rulesMismatch(rules, { ...relay, protocol: [1, 0] })).toBeUndefined()
  })

  const text = encodeInvite(invite)

  test('survive, also with line breaks that a mail program put in', () => {
    expect(decodeInvite(text)).toEqual(invite)
    expect(decodeInvite(`  ${text.replace(/.{40}/g, '$&\r\n')}\n`)).toEqual(invite)
    expect(text.length).toBeLessThan(400)
  })

  test('that were changed in any one character are refused with a hint', () => {
    const random = seeded(3)
    for (let i = 0; i < 3000; i++) {
      const at = Math.floor(random() * text.length)
      const changed =
        text.slice(0, at) + String.fromCharCode(33 + Math.floor(random() * 90)) + text.slice(at + 1)
      if (changed === text) continue
      try {
        // The last character of base64url may carry unused bits; such a change changes nothing.
        expect(decodeInvite(changed)).toEqual(invite)
        expect(at).toBe(text.length - 1)
      } catch (error) {
        expect(error).toBeInstanceOf(WaggleError)
        expect(error).toMatchObject({ code: 'E_PEER', hint: expect.any(String) })
      }
    }
  })

  test('rules digests tell tasks and versions apart, not their order', () => {
    const two = [
      { name: 'a', version: 1 },
      { name: 'b', version: 2 },
    ]
    const digest = rulesDigest({ swarm: 's', tasks: two })
    expect(rulesDigest({ swarm: 's', tasks: two.toReversed() })).toBe(digest)
    expect(rulesDigest({ swarm: 's', tasks: [two[0]!] })).not.toBe(digest)
    expect(rulesDigest({ swarm: 't', tasks: two })).not.toBe(digest)
  })
})
