// Receipts and what is behind them, between two nodes without a network.

import { describe, expect, test } from 'vitest'
import { createTransferLimits } from '../../../daemon/swarm/heads/transfer-limits.ts'
import type { Answer, Requests } from '../../../daemon/swarm/libp2p/streams.ts'
import { createReceipts, type ReceiptSource } from '../../../daemon/swarm/receipts/receipts.ts'
import { encodeReceipt } from '../../../protocol/wire/index.ts'
import { receipt as described } from '../../protocol/wire/receipts.ts'
import { freshIdentity } from '../groups.ts'
import { bytesOf, sha256, virtualClock } from '../heads/network.ts'

const LINEAGE = described.lineage
const BEHIND = bytesOf(1_200_000)
const HASH = sha256(BEHIND)

interface Options {
  mostPerHour?: number
  /** Changes what the author answers. */
  answers?(messages: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterable<Uint8Array>
}

/** An author that tells, and one that asks. */
async function two({ mostPerHour = 0, answers = (messages) => passOn(messages) }: Options = {}) {
  const clock = virtualClock()
  const [author, asker] = [freshIdentity(), freshIdentity()]
  const lies: string[] = []
  const state = { isMuted: false, offers: 0, steps: 0 }
  let serve: Answer = () => []
  const requests: Requests = {
    isConnected: () => true,
    ask: ({ question }) => answers(serve(question, asker.peerId)),
    async serve(_, answer) {
      serve = answer
    },
  }
  const open = (identity: typeof author, isMuted: () => boolean) =>
    createReceipts({
      ...{ requests, identity, clock, log() {} },
      limits: createTransferLimits({ mostPerHour: () => mostPerHour }, { clock, isTrusted: () => true }),
      ...{ isBehind: () => false, isMuted, onLie: (peer) => void lies.push(peer) },
    })
  const telling = open(author, () => state.isMuted)
  await telling.start()
  const asking = open(asker, () => false)
  const source: ReceiptSource = {
    offer(lineage) {
      state.offers++
      return lineage === LINEAGE ? described : undefined
    },
    bytes: async (hash) => (hash === HASH ? BEHIND : undefined),
    get steps() {
      return state.steps
    },
  }
  telling.tell(source)
  return { clock, author, asking, telling, lies, state }
}

async function* passOn(
  messages: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  yield* messages
}

describe('a receipt', () => {
  test('comes signed by its author, and the bytes behind it come whole', async () => {
    const { asking, author, lies } = await two()
    const told = await asking.ask(author.peerId, LINEAGE)
    expect(told?.receipt).toMatchObject({ author: author.peerId, steps: described.steps })
    const seen: number[] = []
    const wanted = { hash: HASH, size: BEHIND.length }
    const got = await asking.fetch(author.peerId, wanted, (at) => seen.push(at))
    expect(got && sha256(got)).toBe(HASH)
    expect(seen).toEqual([524_288, 1_048_576, 1_200_000])
    expect(lies).toEqual([])
  })

  test('of another lineage is not there, nor are bytes that none names', async () => {
    const { asking, author, lies } = await two()
    expect(await asking.ask(author.peerId, 'cd'.repeat(32))).toBeUndefined()
    expect(await asking.fetch(author.peerId, { hash: sha256(new Uint8Array(3)), size: 3 })).toBeUndefined()
    expect(lies).toEqual([])
  })

  test('is made again 20 s later, and all who ask before get the same', async () => {
    const { asking, author, clock, state } = await two()
    const first = await asking.ask(author.peerId, LINEAGE)
    clock.time += 19_000
    expect((await asking.ask(author.peerId, LINEAGE))!.frame).toEqual(first!.frame)
    expect(state.offers).toBe(1)
    clock.time += 1000
    expect((await asking.ask(author.peerId, LINEAGE))!.frame).not.toEqual(first!.frame)
  })

  test('is made again sooner where half as many steps were made as it has, so that the next one begins in it', async () => {
    const { asking, author, clock, state } = await two()
    const first = await asking.ask(author.peerId, LINEAGE)
    clock.time += 1000
    state.steps += described.steps.length / 2 - 0.5
    expect((await asking.ask(author.peerId, LINEAGE))!.frame).toEqual(first!.frame)
    state.steps += 1
    expect((await asking.ask(author.peerId, LINEAGE))!.frame).not.toEqual(first!.frame)
  })

  test('is told to nobody who is muted, nor after the node stopped telling', async () => {
    const { asking, author, state, telling } = await two()
    state.isMuted = true
    expect(await asking.ask(author.peerId, LINEAGE)).toBeUndefined()
    state.isMuted = false
    telling.tell(undefined)
    expect(await asking.ask(author.peerId, LINEAGE)).toBeUndefined()
  })
})

describe('whoever answers is charged for', () => {
  const other = freshIdentity()
  test.each<[string, () => Uint8Array]>([
    ["another's receipt", () => encodeReceipt(described, other.signer)],
    [
      'a receipt with a bad signature',
      () => {
        const frame = encodeReceipt(described, other.signer)
        frame[40]! ^= 1
        return frame
      },
    ],
    ['noise', () => Uint8Array.from({ length: 200 }, (_, i) => i * 7)],
  ])('%s', async (_, made) => {
    const { asking, author, lies } = await two({
      async *answers() {
        yield made()
      },
    })
    expect(await asking.ask(author.peerId, LINEAGE)).toBeUndefined()
    expect(lies).toEqual([author.peerId])
  })

  test('bytes of another hash', async () => {
    const { asking, author, lies } = await two({
      async *answers(messages) {
        for await (const message of messages) yield message.map((byte) => byte ^ 1)
      },
    })
    expect(await asking.fetch(author.peerId, { hash: HASH, size: BEHIND.length })).toBeUndefined()
    expect(lies).toEqual([author.peerId])
  })
})

test('bytes beyond the hourly limit do not come, and nobody is charged', async () => {
  const { asking, author, lies } = await two({ mostPerHour: 2_000_000 })
  const wanted = { hash: HASH, size: BEHIND.length }
  expect(await asking.fetch(author.peerId, wanted)).toHaveLength(BEHIND.length)
  expect(await asking.fetch(author.peerId, wanted)).toBeUndefined()
  expect(lies).toEqual([])
})

describe('a proof', () => {
  const forger = freshIdentity()
  const frame = encodeReceipt(described, forger.signer)
  const wanted = { hash: sha256(frame), size: frame.length }

  test('is given by an accuser that has no receipt of its own: another’s receipt, and the bytes behind it', async () => {
    const { asking, telling, author, lies } = await two()
    telling.tell(undefined)
    expect(await asking.named(author.peerId, wanted)).toBeUndefined()
    const proof = new Map<string, Uint8Array>([
      [wanted.hash, frame],
      [HASH, BEHIND],
    ])
    telling.prove(async (hash) => proof.get(hash))
    expect((await asking.named(author.peerId, wanted))?.receipt.author).toBe(forger.peerId)
    expect(await asking.fetch(author.peerId, { hash: HASH, size: BEHIND.length })).toHaveLength(BEHIND.length)
    expect(lies).toEqual([])
  })

  test('that is no receipt costs the accuser', async () => {
    const { asking, telling, author, lies } = await two()
    const noise = bytesOf(500)
    telling.prove(async () => noise)
    expect(await asking.named(author.peerId, { hash: sha256(noise), size: 500 })).toBeUndefined()
    expect(lies).toEqual([author.peerId])
  })
})
