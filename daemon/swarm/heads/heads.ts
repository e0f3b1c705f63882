// Offers this node's head to peers, and fetches theirs. A head is taken from its author only. Nothing here knows what
// the bytes mean: the caller says how many it expects, and gets them once their hash is right.

import { createHash } from 'node:crypto'
import {
  decodeHead,
  decodeHeadRequest,
  encodeHead,
  encodeHeadRequest,
  HEAD_CHUNK_BYTES,
  HEAD_PROTOCOL,
  type Head,
  isAuthentic,
  MAX_HEAD_FRAME_BYTES,
  MAX_HEAD_REQUEST_BYTES,
  openFrame,
} from '../../../protocol/wire/index.ts'
import { Quota } from '../admission/quota.ts'
import type { Requests } from '../libp2p/streams.ts'
import type { Identity } from '../peers/identity.ts'
import type { Clock, Log } from '../types.ts'
import { createHourlyBytes } from './hourly-bytes.ts'

/** A peer asks once an exchange, and fetches what is new. */
const REQUESTS = { perSecond: 1, burst: 32 }
/** Nothing waits longer for a head. At 1 Mbit a second, 15 MB come in this time. */
const FETCH_MS = 120_000
/** Heads that can still be fetched: a peer may be in the middle of the one before. */
const OFFERED = 2

export type OwnHead = Omit<Head, 'author' | 'hash' | 'size' | 'createdAt'>

export interface HeadsOptions {
  /** Bytes of heads an hour, up and down each, 0 for no limit. Read on each use. */
  mostPerHour?: (() => number) | undefined
}

export interface HeadsParts {
  requests: Requests
  identity: Pick<Identity, 'signer' | 'peerId'>
  clock: Clock
  log: Log
  /** True while uploads are behind: requests are then refused. */
  isBehind(): boolean
  /** Peers that get nothing, and are not asked. */
  isMuted(peer: string): boolean
  /** True for peers on this machine or this local network, whose bytes no limit counts. */
  isNear(peer: string): boolean
  /** The peer answered with something other than what was asked for. */
  onLie(peer: string): void
}

export interface Heads {
  start(): Promise<void>
  stop(): void
  /** Replaces the head that peers get. */
  offer(head: OwnHead, bytes: Uint8Array): void
  /** Peers get no head until the next offer. */
  withdraw(): void
  /** The peer's head of this lineage, signed by the peer. Undefined if it has none. Never rejects. */
  ask(peer: string, lineage: string): Promise<Head | undefined>
  /**
   * The head's bytes. Undefined if they do not come, or fail their hash. `size` is what the caller's own model has; a
   * head of another size is not fetched. Never rejects.
   */
  fetch(
    head: Head,
    options: { size: number; onProgress?: (bytes: number) => void },
  ): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Since the start. */
  readonly bytes: { in: number; out: number }
}

export function createHeads({ mostPerHour = () => 0 }: HeadsOptions, by: HeadsParts): Heads {
  const { requests, identity, clock, log } = by
  const asked = new Quota({ rate: REQUESTS }, { clock })
  const limits = {
    in: createHourlyBytes({ most: mostPerHour }, { clock }),
    out: createHourlyBytes({ most: mostPerHour }, { clock }),
  }
  const bytes = { in: 0, out: 0 }
  const stopped = new AbortController()
  /** The newest last. */
  let offered: { hash: string; lineage: string; frame: Uint8Array; bytes: Uint8Array }[] = []
  let isOffering = false

  function* answer(question: Uint8Array, peer: string): Iterable<Uint8Array> {
    if (by.isBehind() || by.isMuted(peer) || !asked.take(peer)) return
    const request = decodeHeadRequest(question)
    if ('lineage' in request) {
      const newest = isOffering ? offered.at(-1) : undefined
      yield newest?.lineage === request.lineage ? newest.frame : new Uint8Array()
      return
    }
    const head = isOffering ? offered.find(({ hash }) => hash === request.head) : undefined
    const from = request.from * HEAD_CHUNK_BYTES
    if (head === undefined || from >= head.bytes.length) return
    if (!by.isNear(peer) && !limits.out.take(head.bytes.length - from)) return
    for (let at = from; at < head.bytes.length; at += HEAD_CHUNK_BYTES) {
      const chunk = head.bytes.subarray(at, at + HEAD_CHUNK_BYTES)
      bytes.out += chunk.length
      yield chunk
    }
  }

  const ask = (peer: string, question: Uint8Array, maxMessage: number, signal = stopped.signal) =>
    requests.ask({ peer, protocol: HEAD_PROTOCOL, question }, { maxMessage, signal })

  return {
    bytes,
    start: () =>
      requests.serve({ protocol: HEAD_PROTOCOL, maxQuestion: MAX_HEAD_REQUEST_BYTES, streams: 2 }, answer),
    stop: () => stopped.abort(),

    offer(head, own) {
      const hash = createHash('sha256').update(own).digest('hex')
      const facts = { ...head, hash, size: own.length, createdAt: clock.now() }
      const frame = encodeHead(facts, identity.signer)
      offered = [...offered, { hash, lineage: head.lineage, frame, bytes: own }].slice(-OFFERED)
      isOffering = true
    },

    withdraw() {
      offered = []
      isOffering = false
    },

    async ask(peer, lineage) {
      if (by.isMuted(peer) || !requests.isConnected(peer)) return undefined
      try {
        for await (const message of ask(peer, encodeHeadRequest({ lineage }), MAX_HEAD_FRAME_BYTES)) {
          if (message.length === 0) return undefined
          const head = readHead(message)
          if (head?.author === peer && head.lineage === lineage) return head
          by.onLie(peer)
          return undefined
        }
      } catch (error) {
        // Nodes before 1.2 do not speak this.
        log('debug', 'no head', { peer, error: String(error) })
      }
      return undefined
    },

    async fetch(head, { size, onProgress }) {
      const { author: peer, hash } = head
      if (head.size !== size || by.isMuted(peer) || !requests.isConnected(peer)) return undefined
      if (!by.isNear(peer) && !limits.in.take(size)) return undefined
      const whole = new Uint8Array(size)
      let at = 0
      const late = new AbortController()
      const cancel = clock.after(FETCH_MS, () => late.abort(new Error('it takes too long')))
      const signal = AbortSignal.any([stopped.signal, late.signal])
      const question = encodeHeadRequest({ head: hash, from: 0 })
      try {
        for await (const chunk of ask(peer, question, HEAD_CHUNK_BYTES, signal)) {
          if (chunk.length === 0 || chunk.length > size - at) break
          whole.set(chunk, at)
          at += chunk.length
          bytes.in += chunk.length
          onProgress?.(at)
          if (at === size) break
        }
      } catch (error) {
        log('debug', 'a head was not fetched', { peer, error: String(error) })
        return undefined
      } finally {
        cancel()
      }
      if (at === size && createHash('sha256').update(whole).digest('hex') === hash) return whole
      // A peer that has a newer head by now, or no bytes left for this hour, sends nothing at all.
      if (at > 0) by.onLie(peer)
      return undefined
    },
  }
}

/** Undefined for what is not a head, or not signed by the author that it names. */
function readHead(message: Uint8Array): Head | undefined {
  try {
    const frame = openFrame(message, MAX_HEAD_FRAME_BYTES)
    return isAuthentic(frame) ? decodeHead(frame) : undefined
  } catch {
    return undefined
  }
}
