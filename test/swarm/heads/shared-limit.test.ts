// Heads and what is behind receipts are within one hourly limit.

import { describe, expect, test } from 'vitest'
import type { Requests } from '../../../daemon/swarm/libp2p/streams.ts'
import {
  encodeHeadRequest,
  encodeReceiptRequest,
  HEAD_CHUNK_BYTES,
  HEAD_PROTOCOL,
  RECEIPT_PROTOCOL,
} from '../../../protocol/wire/index.ts'
import { startExchange } from '../lone-exchange.ts'
import { bytesOf, FACTS, headOf, sha256 } from './network.ts'

const LIMIT = 2_000_000
const { head, bytes: headBytes } = headOf(1_500_000)
const STATE = bytesOf(1_500_000, 2)
const wanted = { hash: sha256(STATE), size: STATE.length }

/** A node that offers a head and a state. */
async function sender() {
  const { exchange, asked } = await startExchange({ mostPerHour: LIMIT, trusted: ['friend'] })
  exchange.heads.offer(FACTS, bytesOf(1_500_000))
  exchange.receipts.tell({ offer: () => undefined, bytes: async () => STATE, steps: 0 })
  return {
    head: (peer: string) => asked(peer, HEAD_PROTOCOL, encodeHeadRequest({ head: head.hash, from: 0 })),
    state: (peer: string) =>
      asked(peer, RECEIPT_PROTOCOL, encodeReceiptRequest({ bytes: wanted.hash, from: 0 })),
  }
}

const ask: Requests['ask'] = async function* ({ protocol }) {
  const whole = protocol === HEAD_PROTOCOL ? headBytes : STATE
  for (let at = 0; at < whole.length; at += HEAD_CHUNK_BYTES) yield whole.subarray(at, at + HEAD_CHUNK_BYTES)
}

describe('in one hour', () => {
  test('a state that is fetched after a head has what the head left of the limit', async () => {
    const { exchange } = await startExchange({ mostPerHour: LIMIT, ask })
    expect(await exchange.heads.fetch(head, { size: head.size })).toHaveLength(head.size)
    expect(await exchange.receipts.fetch('peer', wanted)).toBeUndefined()
  })

  test('a state that is sent after a head has what the head left of the limit', async () => {
    const { head, state } = await sender()
    expect(await head('friend')).toBe(1_500_000)
    expect(await state('friend')).toBe(0)
  })

  test('a trusted peer gets a state of three quarters of the limit', async () => {
    const { state } = await sender()
    expect(await state('friend')).toBe(STATE.length)
  })

  test('a stranger gets no state of more than a quarter of the limit', async () => {
    const { state } = await sender()
    expect(await state('stranger')).toBe(0)
  })
})
