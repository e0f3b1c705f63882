// Offers this node's head to peers, and fetches theirs. A head is taken from its author only. Nothing here knows what
// the bytes mean: the caller says how many it expects, and gets them once their hash is right.

import { createHash } from 'node:crypto'
import {
  decodeHead,
  decodeHeadRequest,
  encodeHead,
  encodeHeadRequest,
  type Frame,
  HEAD_PROTOCOL,
  type Head,
  isAuthentic,
  MAX_HEAD_FRAME_BYTES,
  MAX_HEAD_REQUEST_BYTES,
  malformed,
  openFrame,
  WireFault,
} from '../../../protocol/wire/index.ts'
import { Quota } from '../admission/quota.ts'
import type { Identity } from '../peers/identity.ts'
import { createTransfers, type TransferParts } from './transfers.ts'

/** A peer asks once an exchange, and fetches what is new. */
const REQUESTS = { perSecond: 1, burst: 32 }
/** Nothing waits longer for a head. At 1 Mbit a second, 15 MB come in this time. */
const FETCH_MS = 120_000
/** Heads that can still be fetched: a peer may be in the middle of the one before. */
const OFFERED = 2
/** A peer that has fetched none of so many heads does not go on with this node's weights. */
const LATELY = 8

/** Any number of peers may ask between two heads. */
const MAX_ASKERS = 1024

type Progress = (bytes: number) => void

export type OwnHead = Omit<Head, 'author' | 'hash' | 'size' | 'createdAt' | 'age'>

export interface HeadsParts extends TransferParts {
  identity: Pick<Identity, 'signer' | 'peerId'>
  /** True while uploads are behind: requests are then refused. */
  isBehind(): boolean
  /** Whether a frame's signature is valid. Default: Ed25519. */
  isAuthentic?: ((frame: Frame) => boolean) | undefined
}

export interface Heads {
  start(): Promise<void>
  stop(): void
  /** Replaces the head that peers get. */
  offer(head: OwnHead, bytes: Uint8Array<ArrayBuffer>): void
  /** Peers get no head until the next offer. */
  withdraw(): void
  /** The peer has fetched one of this node's newest heads. */
  isTaking(peer: string): boolean
  /** The peer has asked for this node's newest head, so it has one of the same lineage. */
  hasAsked(peer: string): boolean
  /**
   * The peer's head of this lineage, signed by the peer. Null if it answers that it has none, undefined if it does not
   * answer. Never rejects.
   */
  ask(peer: string, lineage: string): Promise<Head | null | undefined>
  /**
   * The head's bytes. Undefined if they do not come, or fail their hash. `size` is what the caller's own model has; a
   * head of another size is not fetched. `onHeld` is called if the limit for this hour is used up. Never rejects.
   */
  fetch(
    head: Head,
    options: { size: number; onProgress?: Progress; onHeld?(): void },
  ): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** The bytes that came are no weights, although their hash is right: charges the peer. */
  blame(peer: string): void
  /** Since the start. */
  readonly bytes: { in: number; out: number }
  /** Heads that were not fetched, or not sent to a trusted peer, since the start, because the limit was used up. */
  readonly held: number
}

export function createHeads(parts: HeadsParts): Heads {
  const { requests, identity, clock } = parts
  const asked = new Quota({ rate: REQUESTS }, { clock })
  const stopped = new AbortController()
  const options = { protocol: HEAD_PROTOCOL, fetchMs: FETCH_MS, signal: stopped.signal }
  const transfers = createTransfers(options, parts)
  /** The newest last. */
  let offered: { facts: Omit<Head, 'author'>; bytes: Uint8Array<ArrayBuffer> }[] = []
  /** Heads so far, and how many there were when a peer last fetched one. */
  let offers = 0
  const taken = new Map<string, number>()
  let askers = new Set<string>()

  function* answer(question: Uint8Array, peer: string): Iterable<Uint8Array> {
    if (parts.isBehind() || parts.isMuted(peer) || !asked.take(peer)) return
    const request = decodeHeadRequest(question)
    if ('lineage' in request) {
      const newest = offered.at(-1)?.facts
      if (newest?.lineage !== request.lineage) yield new Uint8Array()
      else {
        if (askers.size < MAX_ASKERS) askers.add(peer)
        yield encodeHead({ ...newest, age: clock.now() - newest.createdAt }, identity.signer)
      }
      return
    }
    const head = offered.find(({ facts }) => facts.hash === request.head)
    if (head && (yield* transfers.send(head.bytes, request.from, peer))) taken.set(peer, offers)
  }

  return {
    bytes: transfers.bytes,
    get held() {
      return transfers.held
    },
    blame: parts.onLie,
    start: () =>
      requests.serve({ protocol: HEAD_PROTOCOL, maxQuestion: MAX_HEAD_REQUEST_BYTES, streams: 2 }, answer),
    stop: () => stopped.abort(),

    offer(head, own) {
      const hash = createHash('sha256').update(own).digest('hex')
      const facts = { ...head, hash, size: own.length, createdAt: clock.now() }
      offered = [...offered, { facts, bytes: own }].slice(-OFFERED)
      offers++
      askers = new Set()
      for (const [peer, at] of taken) if (offers > at + LATELY) taken.delete(peer)
    },

    withdraw() {
      offered = []
      taken.clear()
    },
    isTaking: (peer) => taken.has(peer),
    hasAsked: (peer) => askers.has(peer),

    async ask(peer, lineage) {
      if (parts.isMuted(peer) || !requests.isConnected(peer)) return undefined
      const question = encodeHeadRequest({ lineage })
      const limits = { maxMessage: MAX_HEAD_FRAME_BYTES, signal: stopped.signal }
      try {
        for await (const message of requests.ask({ peer, protocol: HEAD_PROTOCOL, question }, limits)) {
          if (message.length === 0) return null
          const head = readHead(message, parts)
          if (head.author !== peer || head.lineage !== lineage) throw malformed('not what was asked for')
          return head
        }
      } catch (error) {
        transfers.failed(peer, error)
      }
      return undefined
    },

    async fetch(head, { size, onProgress, onHeld }) {
      const { author, hash } = head
      if (head.size !== size) return undefined
      // Nodes that begin together have the same first head.
      const same = offered.find(({ facts }) => facts.hash === hash)
      if (same) return same.bytes
      const question = (from: number): Uint8Array => encodeHeadRequest({ head: hash, from })
      return transfers.fetch(author, { hash, size, question, ...(onHeld && { onHeld }) }, onProgress)
    },
  }
}

/** Throws WireFault for what is not a head, or not signed by the author that it names. */
function readHead(message: Uint8Array, parts: Pick<HeadsParts, 'isAuthentic'>): Head {
  const frame = openFrame(message, MAX_HEAD_FRAME_BYTES)
  if (!(parts.isAuthentic ?? isAuthentic)(frame)) throw new WireFault('signature', 'not signed by its author')
  return decodeHead(frame)
}
