// A receipt: what an author's newest steps were made of, by hash, signed before anybody says which step to look at. It is
// fetched over a stream of protocol /waggle/receipt/1, and so are the bytes behind its hashes. New in 1.3.
//
//   { "lineage": 32 bytes }          -> one message: a signed receipt (a frame of kind 4), or an empty one
//   { "bytes": hash, "from": chunk } -> those bytes from that chunk on, 512 KiB a message
//
// A state is the trained tensors in the order of their names as little-endian float32 (`weights`), AdamW's first and then
// its second moments likewise (`moments`), and the number of steps that the moments have seen.

import { Buffer } from 'node:buffer'
import { readCbor, type Value, type Writable, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { digestIn, Fields, list, peerIn } from '../fields.ts'
import { authorOf, type Frame, KIND, type Signer, sealFrame } from '../frame.ts'
import { packDoubles, unpackDoubles } from '../pack.ts'
import { MAX_BATCH_BYTES } from './batch.ts'

export const RECEIPT_PROTOCOL = '/waggle/receipt/1'
export const RECEIPT_CHUNK_BYTES = 512 << 10
export const MAX_RECEIPT_REQUEST_BYTES = 256
/** Sixteen steps of 64 groups take a fifth of it. */
export const MAX_RECEIPT_BYTES = 1 << 20
export const MAX_RECEIPT_STEPS = 16
/** Groups of a step. */
export const MAX_RECEIPT_GROUPS = 512
/** Heads that were averaged in between two steps. */
const MAX_JOINED_HEADS = 64
/** What says how the author learns: estimator and corrections, with their settings. */
const MAX_METHOD_CHARS = 8192
const MAX_BUILD_CHARS = 256
const MAX_REASON_CHARS = 256
/** Bytes behind one hash: the moments of a 1 B model. */
const MAX_BEHIND_BYTES = 2 ** 33

export interface StateHashes {
  /** Steps that the moments have seen. */
  steps: number
  /** SHA-256 of the bytes, 64 hex digits. */
  weights: string
  moments: string
}

export interface ReceiptStep {
  /** The author's policy version before the step. */
  version: number
  before: StateHashes
  after: StateHashes
  /** In the batch's order: content id, and the author if that is not the receipt's. */
  groups: readonly { id: string; author?: string }[]
  /** SHA-256 and number of the batch's bytes (see batch.ts); absent if nobody else can compute the step. */
  batch?: { hash: string; size: number }
  /** Why nobody else can compute the step. */
  closed?: string
  /** Heads that were averaged in since the step before, in order. */
  joined: readonly JoinedInReceipt[]
}

export interface JoinedInReceipt {
  author: string
  /** Of the head's bytes. */
  hash: string
  /** Since 1.4: the share of (head - beside) that was added to the weights. */
  added?: { share: number /** Weights of the author: SHA-256. */; beside: string }
}

/** How the author's head follows from its weights: packed, with what rounding had lost before. */
export interface ReceiptHead {
  /** SHA-256 of the head's bytes. */
  hash: string
  /** Of the weights, and of what rounding had lost; both vectors of float32. `lost` is absent if that was nothing. */
  weights: string
  lost?: string
}

export interface Receipt {
  lineage: string
  method: string
  /** What computed the steps: version, engine and device. */
  build: string
  /** Oldest first. */
  steps: readonly ReceiptStep[]
  head?: ReceiptHead
  author: string
  /** The author's clock, ms since 1970. */
  createdAt: number
}

export type ReceiptRequest = { lineage: string } | { bytes: string; from: number }

const packed = (hash: string): Buffer => Buffer.from(hash, 'hex')

export function encodeReceipt(receipt: Omit<Receipt, 'author'>, signer: Signer): Uint8Array {
  const { lineage, method, build, steps, head, createdAt } = receipt
  const body: Writable = {
    lineage: packed(lineage),
    ...{ method, build, steps: steps.map(stepBody), created: createdAt },
    ...(head && {
      head: {
        hash: packed(head.hash),
        weights: packed(head.weights),
        ...(head.lost !== undefined && { lost: packed(head.lost) }),
      },
    }),
  }
  const isNew = steps.some(({ joined }) => joined.some(({ added }) => added))
  return sealFrame(KIND.receipt, writeCbor(body), signer, isNew ? 4 : 0)
}

function stepBody({ version, before, after, groups, batch, closed, joined }: ReceiptStep): Writable {
  const state = ({ steps, weights, moments }: StateHashes): Writable => [
    steps,
    packed(weights),
    packed(moments),
  ]
  const newest = joined.slice(-MAX_JOINED_HEADS)
  const added = newest.flatMap((one) => one.added ?? [])
  return {
    ...{ version, before: state(before), after: state(after) },
    groups: groups.map(({ id, author }) => [packed(id), author ?? null]),
    ...(batch && { batch: packed(batch.hash), size: batch.size }),
    ...(closed !== undefined && { closed: closed.slice(0, MAX_REASON_CHARS) }),
    joined: newest.map(({ author, hash }) => [author, packed(hash)]),
    // Of all or of none.
    ...(added.length > 0 &&
      added.length === joined.length && {
        added: added.map(({ share, beside }) => [packDoubles([share]), packed(beside)]),
      }),
  }
}

/** Throws WireFault. Does not check the signature: see isAuthentic. */
export function decodeReceipt(frame: Frame): Receipt {
  if (frame.kind !== KIND.receipt) throw malformed('not a receipt')
  const body = Fields.of(readCbor(frame.body), frame.minor)
  const head = body.optional('head')
  const receipt: Receipt = {
    lineage: body.digest('lineage'),
    method: body.text('method', MAX_METHOD_CHARS),
    build: body.text('build', MAX_BUILD_CHARS),
    steps: list(body.get('steps'), 0, MAX_RECEIPT_STEPS).map((step) =>
      readStep(Fields.of(step, frame.minor)),
    ),
    ...(head && { head: readHead(head) }),
    author: authorOf(frame),
    createdAt: body.integer('created', 0),
  }
  body.end()
  return receipt
}

function readHead(fields: Fields): ReceiptHead {
  const lost = fields.optionalDigest('lost')
  const head = {
    hash: fields.digest('hash'),
    weights: fields.digest('weights'),
    ...(lost !== undefined && { lost }),
  }
  fields.end()
  return head
}

function readStep(fields: Fields): ReceiptStep {
  const joined = list(fields.get('joined'), 0, MAX_JOINED_HEADS).map((one) => {
    const [author, head] = list(one, 2, 2)
    return { author: peerIn(author), hash: digestIn(head) }
  })
  const added = fields.get('added')
  const all = added === undefined ? undefined : list(added, joined.length, joined.length).map(readAdded)
  const hash = fields.optionalDigest('batch')
  const closed = fields.get('closed')
  if ((hash === undefined) === (closed === undefined)) throw malformed('either a batch or why there is none')
  if (closed !== undefined && (typeof closed !== 'string' || closed.length > MAX_REASON_CHARS))
    throw malformed('closed')
  const step: ReceiptStep = {
    version: fields.integer('version', 0),
    before: readState(fields.get('before')),
    after: readState(fields.get('after')),
    groups: list(fields.get('groups'), 0, MAX_RECEIPT_GROUPS).map(readGroup),
    ...(hash !== undefined && { batch: { hash, size: fields.integer('size', 1, MAX_BATCH_BYTES) } }),
    ...(closed !== undefined && { closed }),
    joined: joined.map((one, i) => (all ? { ...one, added: all[i]! } : one)),
  }
  fields.end()
  return step
}

function readAdded(value: Value): NonNullable<JoinedInReceipt['added']> {
  const [share, beside] = list(value, 2, 2)
  return { share: unpackDoubles(share, 1)[0]!, beside: digestIn(beside) }
}

function readState(value: Value | undefined): StateHashes {
  const [steps, weights, moments] = list(value, 3, 3)
  if (typeof steps !== 'number' || steps < 0) throw malformed('steps')
  return { steps, weights: digestIn(weights), moments: digestIn(moments) }
}

function readGroup(value: Value): { id: string; author?: string } {
  const [id, author] = list(value, 2, 2)
  return author === null ? { id: digestIn(id) } : { id: digestIn(id), author: peerIn(author) }
}

export function encodeReceiptRequest(request: ReceiptRequest): Uint8Array {
  if ('lineage' in request) return writeCbor({ lineage: packed(request.lineage) })
  return writeCbor({ bytes: packed(request.bytes), from: request.from })
}

/** Throws WireFault. Unknown fields are skipped. */
export function decodeReceiptRequest(bytes: Uint8Array): ReceiptRequest {
  const fields = Fields.of(readCbor(bytes), Number.POSITIVE_INFINITY)
  const hash = fields.optionalDigest('bytes')
  if (hash === undefined) return { lineage: fields.digest('lineage') }
  return { bytes: hash, from: fields.integer('from', 0, MAX_BEHIND_BYTES / RECEIPT_CHUNK_BYTES - 1) }
}
