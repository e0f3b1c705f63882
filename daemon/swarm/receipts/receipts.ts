// Offers this node's receipt to peers with the bytes behind it, and fetches theirs. Nothing here knows what the bytes mean.

import {
  decodeReceipt,
  decodeReceiptRequest,
  encodeReceipt,
  encodeReceiptRequest,
  type Frame,
  isAuthentic,
  MAX_RECEIPT_BYTES,
  MAX_RECEIPT_REQUEST_BYTES,
  malformed,
  openFrame,
  RECEIPT_PROTOCOL,
  type Receipt,
  WireFault,
} from '../../../protocol/wire/index.ts'
import { Quota } from '../admission/quota.ts'
import type { HeadsParts } from '../heads/heads.ts'
import { createTransfers } from '../heads/transfers.ts'

/** An audit asks for a receipt and four times for bytes. */
const REQUESTS = { perSecond: 1, burst: 32 }
/**
 * A receipt is given to all who ask within this time, so that what is behind it need not be kept for many. It is renewed
 * sooner where half as many steps were made as it has: the next one must begin before this one ends, or whoever follows
 * the steps finds a gap.
 */
const FRESH_MS = 20_000
/** Nothing waits longer for the bytes behind one hash. */
const FETCH_MS = 300_000

/** What this node has to tell. */
export interface ReceiptSource {
  /** Undefined if there is none of that lineage. The bytes behind it stay until the call after the next. */
  offer(lineage: string): Omit<Receipt, 'author' | 'createdAt'> | undefined
  bytes(hash: string): Promise<Uint8Array | undefined>
  /** Steps that it has recorded so far. */
  readonly steps: number
}

export interface Receipts {
  start(): Promise<void>
  stop(): void
  /** Peers that ask are told, until this is called again. */
  tell(source: ReceiptSource | undefined): void
  /** Peers that ask also get these bytes, which accusations of this node name. */
  prove(bytes: ReceiptSource['bytes']): void
  /** The peer's receipt of this lineage, signed by the peer. Undefined if it has none. Never rejects. */
  ask(peer: string, lineage: string): Promise<{ receipt: Receipt; frame: Uint8Array } | undefined>
  /** The receipt of that hash from a peer that names it, signed by whoever made it. Undefined if it does not come. Never rejects. */
  named(
    peer: string,
    wanted: { hash: string; size: number },
  ): Promise<{ receipt: Receipt; frame: Uint8Array } | undefined>
  /** Bytes behind a peer's receipt, with the right hash. Undefined if they do not come. Never rejects. */
  fetch(
    peer: string,
    wanted: { hash: string; size: number },
    onProgress?: (bytes: number) => void,
  ): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** The receipt contradicts itself: charges the peer. */
  blame(peer: string): void
  /** Since the start. */
  readonly bytes: { in: number; out: number }
}

export function createReceipts(parts: HeadsParts): Receipts {
  const { requests, identity, clock } = parts
  const asked = new Quota({ rate: REQUESTS }, { clock })
  const stopped = new AbortController()
  const options = { protocol: RECEIPT_PROTOCOL, fetchMs: FETCH_MS, signal: stopped.signal }
  const transfers = createTransfers(options, parts)
  let source: ReceiptSource | undefined
  let proofs: ReceiptSource['bytes'] | undefined
  let offered: { lineage: string; frame: Uint8Array; at: number; until: number } | undefined

  const frameOf = (lineage: string): Uint8Array => {
    const now = clock.now()
    const steps = source?.steps ?? 0
    if (
      offered?.lineage === lineage &&
      now >= offered.at &&
      now - offered.at < FRESH_MS &&
      steps < offered.until
    )
      return offered.frame
    const receipt = source?.offer(lineage)
    if (!receipt) return new Uint8Array()
    const frame = encodeReceipt({ ...receipt, createdAt: now }, identity.signer)
    offered = { lineage, frame, at: now, until: steps + receipt.steps.length / 2 }
    return frame
  }

  async function* answer(question: Uint8Array, peer: string): AsyncIterable<Uint8Array> {
    if (!(source ?? proofs) || parts.isBehind() || parts.isMuted(peer) || !asked.take(peer)) return
    const request = decodeReceiptRequest(question)
    if ('lineage' in request) {
      yield frameOf(request.lineage)
      return
    }
    const behind = (await source?.bytes(request.bytes)) ?? (await proofs?.(request.bytes))
    if (behind) yield* transfers.send(behind, request.from, peer)
  }

  const fetch: Receipts['fetch'] = (peer, { hash, size }, onProgress) => {
    const question = (from: number): Uint8Array => encodeReceiptRequest({ bytes: hash, from })
    return transfers.fetch(peer, { hash, size, question }, onProgress)
  }

  return {
    bytes: transfers.bytes,
    blame: parts.onLie,
    start: () =>
      requests.serve(
        { protocol: RECEIPT_PROTOCOL, maxQuestion: MAX_RECEIPT_REQUEST_BYTES, streams: 2 },
        answer,
      ),
    stop: () => stopped.abort(),
    tell(next) {
      if (next !== source) offered = undefined
      source = next
    },
    prove(bytes) {
      proofs = bytes
    },

    async ask(peer, lineage) {
      if (parts.isMuted(peer) || !requests.isConnected(peer)) return undefined
      const question = encodeReceiptRequest({ lineage })
      const options = { maxMessage: MAX_RECEIPT_BYTES, signal: stopped.signal }
      try {
        for await (const message of requests.ask({ peer, protocol: RECEIPT_PROTOCOL, question }, options)) {
          if (message.length === 0) return undefined
          const receipt = readReceipt(message, parts.isAuthentic)
          if (receipt.author !== peer || receipt.lineage !== lineage)
            throw malformed('not what was asked for')
          return { receipt, frame: message }
        }
      } catch (error) {
        transfers.failed(peer, error)
      }
      return undefined
    },

    async named(peer, wanted) {
      const frame = await fetch(peer, wanted)
      try {
        return frame && { receipt: readReceipt(frame, parts.isAuthentic), frame }
      } catch (error) {
        transfers.failed(peer, error)
        return undefined
      }
    },
    fetch,
  }
}

/** Throws WireFault for what is not a receipt, or not signed by the author that it names. */
export function readReceipt(
  message: Uint8Array,
  isGenuine: ((frame: Frame) => boolean) | undefined = isAuthentic,
): Receipt {
  const frame = openFrame(message, MAX_RECEIPT_BYTES)
  if (!isGenuine(frame)) throw new WireFault('signature', 'not signed by its author')
  return decodeReceipt(frame)
}
