// An accusation: the author says that it computed a step of another peer's receipt again, and that the step is another one.
// It names the receipt, which the accused has signed, so that others can compute the step themselves: an accusation proves
// nothing. It goes by gossip; the receipt and what the step names are fetched from the accuser over a stream of protocol
// /waggle/receipt/1. New in 1.5.

import { Buffer } from 'node:buffer'
import { readCbor, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { Fields, peerIn } from '../fields.ts'
import { authorOf, type Frame, KIND, type Signer, sealFrame } from '../frame.ts'
import { MAX_RECEIPT_BYTES, MAX_RECEIPT_STEPS } from './receipt.ts'

export interface Accusation {
  /** Of the receipt; 64 hex digits. */
  lineage: string
  /** Peer ID. */
  accused: string
  /** SHA-256 of the receipt's frame, 64 hex digits, and its bytes. */
  receipt: string
  size: number
  /** Place of the step in the receipt, from 0 on; absent if its head is not packed from the weights that it names. */
  step?: number
  author: string
  /** The author's clock, ms since 1970. */
  createdAt: number
}

export function encodeAccusation(accusation: Omit<Accusation, 'author'>, signer: Signer): Uint8Array {
  const { lineage, accused, receipt, size, step, createdAt } = accusation
  const body = {
    lineage: Buffer.from(lineage, 'hex'),
    receipt: Buffer.from(receipt, 'hex'),
    ...{ accused, size, created: createdAt },
    ...(step !== undefined && { step }),
  }
  return sealFrame(KIND.accusation, writeCbor(body), signer)
}

/** Throws WireFault. Does not check the signature: see isAuthentic. */
export function decodeAccusation(frame: Frame): Accusation {
  if (frame.kind !== KIND.accusation) throw malformed('not an accusation')
  const body = Fields.of(readCbor(frame.body), frame.minor)
  const step = body.optionalInteger('step', 0, MAX_RECEIPT_STEPS - 1)
  const accusation: Accusation = {
    lineage: body.digest('lineage'),
    accused: peerIn(body.get('accused')),
    receipt: body.digest('receipt'),
    size: body.integer('size', 1, MAX_RECEIPT_BYTES),
    ...(step !== undefined && { step }),
    author: authorOf(frame),
    createdAt: body.integer('created', 0),
  }
  body.end()
  return accusation
}
