// The envelope of every signed message: a fixed header, then the body. A receiver can tell kind, version, author and
// the signature's validity without parsing the body.
//
//   byte  0        0x57 'W'
//   byte  1        major version     another major is ignored
//   byte  2        schema's minor    a newer one may bring fields that we do not know
//   byte  3        kind
//   bytes 4-35     the author's Ed25519 public key
//   bytes 36-99    Ed25519 signature over  "waggle/frame\0" | bytes 0-35 | body
//   bytes 100-     body, canonical CBOR

import { Buffer } from 'node:buffer'
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { malformed, WireFault } from './fault.ts'
import { peerIdOf } from './peer-id.ts'

export const MAJOR = 1
/** Version of the whole protocol; 1.1 to 1.3 each added a protocol for streams, 1.4 a field to receipts, 1.5 a kind, 1.6 one to heads. */
export const MINOR = 6
/** Version of frames: the last minor that changed a body's schema. */
export const SCHEMA_MINOR = 6
export const HEADER_BYTES = 100
const MAGIC = 0x57
const DOMAIN = Buffer.from('waggle/frame\0')
/** DER of a SubjectPublicKeyInfo for Ed25519, up to the key (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** Numbers are never reused. */
export const KIND = { group: 1, announcement: 2, head: 3, receipt: 4, accusation: 5 } as const
export type Kind = (typeof KIND)[keyof typeof KIND]

/** The key that signs; the private half stays with its owner. */
export interface Signer {
  /** 32 bytes. */
  publicKey: Uint8Array
  /** Ed25519, 64 bytes. */
  sign(message: Uint8Array): Uint8Array
}

export interface Frame {
  minor: number
  /** This version may not know the kind. */
  kind: number
  publicKey: Uint8Array
  signature: Uint8Array
  body: Uint8Array
  bytes: Uint8Array
}

/** `minor`: the first version that has all fields of the body. */
export function sealFrame(kind: Kind, body: Uint8Array, signer: Signer, minor = 0): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + body.length)
  frame.set([MAGIC, MAJOR, minor, kind])
  frame.set(signer.publicKey, 4)
  frame.set(body, HEADER_BYTES)
  frame.set(signer.sign(signedPart(frame)), 36)
  return frame
}

/** Splits a frame without reading more than the header. `limit` is MAX_GOSSIP_BYTES or MAX_FETCHED_BYTES. */
export function openFrame(bytes: Uint8Array, limit: number): Frame {
  if (bytes.length > limit) throw new WireFault('size', `${bytes.length} bytes`)
  if (bytes.length < 4 || bytes[0] !== MAGIC) throw malformed('not a frame')
  if (bytes[1] !== MAJOR) throw new WireFault('version', `major ${bytes[1]}`)
  if (bytes.length <= HEADER_BYTES) throw malformed('cut short')
  return {
    minor: bytes[2]!,
    kind: bytes[3]!,
    publicKey: bytes.subarray(4, 36),
    signature: bytes.subarray(36, HEADER_BYTES),
    body: bytes.subarray(HEADER_BYTES),
    bytes,
  }
}

/** The claimed author's key, before anything is checked. Only for telling authors apart. */
export function claimedAuthor(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(4, 36)).toString('latin1')
}

export function isAuthentic(frame: Frame): boolean {
  try {
    return verify(null, signedPart(frame.bytes), keyOf(frame.publicKey), frame.signature)
  } catch {
    return false
  }
}

/**
 * Cache of authors' keys imported by node:crypto; importing takes a third as long as a verification. The oldest entry
 * is evicted first.
 */
const read = new Map<string, KeyObject>()
const MAX_READ = 256

function keyOf(publicKey: Uint8Array): KeyObject {
  const name = Buffer.from(publicKey).toString('latin1')
  let key = read.get(name)
  if (key === undefined) {
    key = createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: 'der', type: 'spki' })
    if (read.size >= MAX_READ) read.delete(read.keys().next().value!)
    read.set(name, key)
  }
  return key
}

export function authorOf(frame: Frame): string {
  return peerIdOf(frame.publicKey)
}

function signedPart(frame: Uint8Array): Uint8Array {
  return Buffer.concat([DOMAIN, frame.subarray(0, 36), frame.subarray(HEADER_BYTES)])
}
