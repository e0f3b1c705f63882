// Transfers large files between two consenting nodes, over a stream of protocol /waggle/bulk/1. The reader requests
// the manifest, then chunks by number, several at a time, and receives them in the order of its requests.
//
//   { "manifest": id }   -> one message, the manifest; the id is its SHA-256
//   { "chunk": number }  -> one message, the chunk
//   manifest: { "size": bytes, "chunk": bytes, "hashes": SHA-256 of each chunk, 32 bytes each }

import { Buffer } from 'node:buffer'
import { readCbor, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { Fields } from '../fields.ts'

export const BULK_PROTOCOL = '/waggle/bulk/1'
/** Six chunks of 512 KiB put 3 MiB in flight; a stream may hold 4 MiB unread. */
export const CHUNK_BYTES = 512 << 10
export const BULK_WINDOW = 6
/** 16 GiB in chunks of 512 KiB. */
const MAX_CHUNKS = 32_768
export const MAX_MANIFEST_BYTES = MAX_CHUNKS * 32 + 256
export const MAX_BULK_REQUEST_BYTES = 256

export interface Manifest {
  size: number
  chunk: number
  /** 64 hex digits each. */
  hashes: string[]
}

export type BulkRequest = { manifest: string } | { chunk: number }

export function encodeManifest({ size, chunk, hashes }: Manifest): Uint8Array {
  return writeCbor({ size, chunk, hashes: Uint8Array.from(Buffer.from(hashes.join(''), 'hex')) })
}

/** Throws WireFault. */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const fields = Fields.of(readCbor(bytes), Number.POSITIVE_INFINITY)
  const size = fields.integer('size', 1)
  const chunk = fields.integer('chunk', 1, CHUNK_BYTES)
  const hashes = fields.bytes('hashes')
  const count = Math.ceil(size / chunk)
  if (hashes === undefined || count > MAX_CHUNKS || hashes.length !== count * 32) throw malformed('hashes')
  const hex = Buffer.from(hashes).toString('hex')
  return { size, chunk, hashes: Array.from({ length: count }, (_, i) => hex.slice(i * 64, i * 64 + 64)) }
}

export function encodeBulkRequest(request: BulkRequest): Uint8Array {
  return writeCbor('manifest' in request ? { manifest: Buffer.from(request.manifest, 'hex') } : request)
}

/** Throws WireFault. */
export function decodeBulkRequest(bytes: Uint8Array): BulkRequest {
  const fields = Fields.of(readCbor(bytes), Number.POSITIVE_INFINITY)
  const id = fields.bytes('manifest')
  if (id === undefined) return { chunk: fields.integer('chunk', 0, MAX_CHUNKS - 1) }
  if (id.length !== 32) throw malformed('manifest')
  return { manifest: Buffer.from(id).toString('hex') }
}
