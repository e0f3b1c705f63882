// Requests frames from a peer, over a stream of protocol /waggle/fetch/1: first a list of what it received lately,
// then frames by hash. One request per stream; messages are length-prefixed. The frames are signed, so any peer can
// serve them.
//
//   { "list": ms, "tasks": [names] }  -> one message: hashes of frames received since, oldest first, 32 bytes each
//   { "get": hashes, 32 bytes each }  -> one message for each frame that the peer has, then an empty one

import { Buffer } from 'node:buffer'
import { readCbor, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { Fields, list } from '../fields.ts'
import { TASK_NAME } from '../limits.ts'

export const FETCH_PROTOCOL = '/waggle/fetch/1'
/** Frames per list. */
export const MAX_LISTED = 4096
/** Frames per request. */
export const MAX_REQUESTED = 64
export const MAX_REQUEST_BYTES = 8192
/** Maximum bytes of one answer, so that it never fills the 4 MiB that a stream may hold unread. */
export const MAX_ANSWER_BYTES = 2 << 20
const MAX_TASKS = 64

/** Hashes are SHA-256 of whole frames, 64 hex digits. */
export type FetchRequest = { list: { sinceMs: number; tasks: string[] } } | { get: string[] }

export function encodeFetch(request: FetchRequest): Uint8Array {
  if ('get' in request) return writeCbor({ get: joinHashes(request.get) })
  return writeCbor({ list: Math.round(request.list.sinceMs), tasks: request.list.tasks.slice(0, MAX_TASKS) })
}

/** Throws WireFault. Unknown fields are skipped. */
export function decodeFetch(bytes: Uint8Array): FetchRequest {
  const fields = Fields.of(readCbor(bytes), Number.POSITIVE_INFINITY)
  const hashes = fields.bytes('get')
  if (hashes !== undefined) return { get: splitHashes(hashes, MAX_REQUESTED) }
  return {
    list: {
      sinceMs: fields.integer('list', 0),
      tasks: list(fields.get('tasks'), 0, MAX_TASKS).map((name) => {
        if (typeof name !== 'string' || !TASK_NAME.test(name)) throw malformed('task')
        return name
      }),
    },
  }
}

export function joinHashes(hashes: readonly string[]): Uint8Array {
  return Uint8Array.from(Buffer.from(hashes.join(''), 'hex'))
}

export function splitHashes(bytes: Uint8Array, limit: number): string[] {
  if (bytes.length % 32 !== 0 || bytes.length > limit * 32) throw malformed('hashes')
  const hex = Buffer.from(bytes).toString('hex')
  return Array.from({ length: bytes.length / 32 }, (_, i) => hex.slice(i * 64, i * 64 + 64))
}
