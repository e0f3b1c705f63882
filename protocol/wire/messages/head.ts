// Requests a peer's head, its trained weights, over a stream of protocol /waggle/head/1. One request per stream;
// messages are length-prefixed. New in 1.2. Nothing about heads goes by gossip: a node asks when it wants one.
//
//   { "lineage": 32 bytes }          -> one message: a signed head (a frame of kind 3), or an empty one
//   { "head": hash, "from": chunk }  -> the head's bytes from that chunk on, 512 KiB a message
//
// A head's bytes are packed values and nothing else. Lineage and size say what they are, so they are not parsed.

import { Buffer } from 'node:buffer'
import { readCbor, type Value, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { Fields, list } from '../fields.ts'
import { authorOf, type Frame, KIND, type Signer, sealFrame } from '../frame.ts'
import { MAX_DIFFICULTY, TASK_NAME } from '../limits.ts'

export const HEAD_PROTOCOL = '/waggle/head/1'
export const HEAD_CHUNK_BYTES = 512 << 10
export const MAX_HEAD_REQUEST_BYTES = 256
/** A frame with 64 tasks of 64 characters takes half of it. */
export const MAX_HEAD_FRAME_BYTES = 16_384
/** 2 GiB: a 2 B model, all parameters trained. A receiver takes only the size that its own model has. */
export const MAX_HEAD_BYTES = 2 ** 31
const MAX_HEAD_TASKS = 64
/** Groups behind a head. Receivers add up what a thousand peers claim, and tell the sum. */
const MAX_HEAD_GROUPS = 2 ** 40
/** A year. */
const MAX_AGE_MS = 366 * 24 * 3_600_000
/** Accuracy is sent in units of 1/10,000. */
const PARTS = 10_000

/** How well the weights do at the author's held-out questions of a task, which is a claim. */
export interface HeadTask {
  name: string
  difficulty: number
  /** 0 to 1. */
  accuracy: number
}

export interface Head {
  /** What the weights belong to: digest of the frozen base and the trained tensors, 64 hex digits. */
  lineage: string
  /** SHA-256 of the bytes, 64 hex digits. */
  hash: string
  /** Bytes. */
  size: number
  /** Policy version of the author. */
  version: number
  /** Groups behind the weights by the author's own count: its own, and those of others. */
  own: number
  foreign: number
  tasks: readonly HeadTask[]
  author: string
  /** The author's clock when it made the head, ms since 1970. */
  createdAt: number
  /** Since 1.6: how long ago that was when the author answered, ms. */
  age?: number
}

export type HeadRequest = { lineage: string } | { head: string; from: number }

export function encodeHead(head: Omit<Head, 'author'>, signer: Signer): Uint8Array {
  const { lineage, hash, size, version, tasks, createdAt, age } = head
  const [own, foreign] = [head.own, head.foreign].map((groups) => Math.min(groups, MAX_HEAD_GROUPS))
  const body = {
    lineage: Buffer.from(lineage, 'hex'),
    hash: Buffer.from(hash, 'hex'),
    ...{ size, version, own: own!, foreign: foreign! },
    tasks: tasks
      .slice(0, MAX_HEAD_TASKS)
      .map(({ name, difficulty, accuracy }) => [name, difficulty, Math.round(PARTS * accuracy)]),
    created: createdAt,
    ...(age !== undefined && { age: Math.min(MAX_AGE_MS, Math.max(0, Math.round(age))) }),
  }
  return sealFrame(KIND.head, writeCbor(body), signer, age === undefined ? 0 : 6)
}

/** Throws WireFault. Does not check the signature: see isAuthentic. */
export function decodeHead(frame: Frame): Head {
  if (frame.kind !== KIND.head) throw malformed('not a head')
  const body = Fields.of(readCbor(frame.body), frame.minor)
  const head: Head = {
    lineage: body.digest('lineage'),
    hash: body.digest('hash'),
    size: body.integer('size', 1, MAX_HEAD_BYTES),
    version: body.integer('version', 0),
    own: body.integer('own', 0, MAX_HEAD_GROUPS),
    foreign: body.integer('foreign', 0, MAX_HEAD_GROUPS),
    tasks: list(body.get('tasks'), 0, MAX_HEAD_TASKS).map(readTask),
    author: authorOf(frame),
    createdAt: body.integer('created', 0),
  }
  const age = body.optionalInteger('age', 0, MAX_AGE_MS)
  if (age !== undefined) head.age = age
  body.end()
  return head
}

function readTask(entry: Value): HeadTask {
  const [name, difficulty, parts] = list(entry, 3, 3)
  if (typeof name !== 'string' || !TASK_NAME.test(name)) throw malformed('task')
  if (typeof difficulty !== 'number' || Math.abs(difficulty) > MAX_DIFFICULTY) throw malformed('difficulty')
  if (typeof parts !== 'number' || parts < 0 || parts > PARTS) throw malformed('accuracy')
  return { name, difficulty, accuracy: parts / PARTS }
}

export function encodeHeadRequest(request: HeadRequest): Uint8Array {
  if ('lineage' in request) return writeCbor({ lineage: Buffer.from(request.lineage, 'hex') })
  return writeCbor({ head: Buffer.from(request.head, 'hex'), from: request.from })
}

/** Throws WireFault. Unknown fields are skipped. */
export function decodeHeadRequest(bytes: Uint8Array): HeadRequest {
  const fields = Fields.of(readCbor(bytes), Number.POSITIVE_INFINITY)
  const hash = fields.bytes('head')
  if (hash === undefined) return { lineage: fields.digest('lineage') }
  if (hash.length !== 32) throw malformed('head')
  const from = fields.integer('from', 0, MAX_HEAD_BYTES / HEAD_CHUNK_BYTES - 1)
  return { head: Buffer.from(hash).toString('hex'), from }
}
