// STUN (RFC 8489), as much as a responder needs: reads a Binding request and writes the response. Nodes behind NATs ask
// where their packets appear to come from, and use that address to reach each other (WebRTC). Pure functions of bytes.
// There is no authentication, since a response contains nothing but the source address of the request. CHANGE-REQUEST
// (RFC 5780), MESSAGE-INTEGRITY and TCP are left out, since clients do not need them for plain Binding requests.

import { crc32 } from 'node:zlib'

const HEADER = 20
const COOKIE = 0x2112a442
const BINDING_REQUEST = 0x0001
const BINDING_SUCCESS = 0x0101
const BINDING_ERROR = 0x0111
const ERROR_CODE = 0x0009
const UNKNOWN_ATTRIBUTES = 0x000a
const XOR_MAPPED_ADDRESS = 0x0020
const FINGERPRINT = 0x8028
/** Comprehension-required attributes that a Binding request may contain and that are ignored here: USERNAME,
 * MESSAGE-INTEGRITY, REALM, NONCE, MESSAGE-INTEGRITY-SHA256, PASSWORD-ALGORITHM, USERHASH, PRIORITY, USE-CANDIDATE. */
const HARMLESS = new Set([0x06, 0x08, 0x14, 0x15, 0x1c, 0x1d, 0x1e, 0x24, 0x25])
/** RFC 8489 6.1: this size fits into one packet on any path. Real Binding requests are much smaller. */
export const MAX_STUN_BYTES = 548
/** Maximum number of unknown attributes listed in an error response. */
const MAX_UNKNOWN = 8

export interface Source {
  /** Dotted quad, or eight groups of hex with or without `::`. */
  address: string
  port: number
}

/**
 * The response to a datagram; undefined unless it is a Binding request with the magic cookie. Other datagrams get no
 * answer, so that two responders cannot be made to answer each other. At most 52 bytes longer than the request's
 * header.
 */
export function answerStun(datagram: Uint8Array, from: Source): Uint8Array | undefined {
  if (datagram.length < HEADER || datagram.length > MAX_STUN_BYTES) return undefined
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength)
  if (view.getUint16(0) !== BINDING_REQUEST || view.getUint32(4) !== COOKIE) return undefined
  if (view.getUint16(2) !== datagram.length - HEADER || datagram.length % 4 !== 0) return undefined
  const unknown: number[] = []
  let fingerprint = false
  for (let at = HEADER; at < datagram.length; ) {
    if (at + 4 > datagram.length) return undefined
    const type = view.getUint16(at)
    const length = view.getUint16(at + 2)
    const next = at + 4 + Math.ceil(length / 4) * 4
    if (next > datagram.length) return undefined
    if (type === FINGERPRINT) {
      // FINGERPRINT, if present, is last. If it is wrong, the packet belongs to another protocol.
      if (length !== 4 || next !== datagram.length) return undefined
      if (view.getUint32(at + 4) !== fingerprintOf(datagram.subarray(0, at))) return undefined
      fingerprint = true
    } else if (type < 0x8000 && !HARMLESS.has(type)) unknown.push(type)
    at = next
  }
  const transaction = datagram.subarray(4, HEADER)
  const attributes =
    unknown.length > 0
      ? [attribute(ERROR_CODE, [0, 0, 4, 20]), attribute(UNKNOWN_ATTRIBUTES, listed(unknown))]
      : [attribute(XOR_MAPPED_ADDRESS, xorMapped(from, transaction))]
  return message(unknown.length > 0 ? BINDING_ERROR : BINDING_SUCCESS, transaction, attributes, fingerprint)
}

function message(
  type: number,
  transaction: Uint8Array,
  attributes: readonly Uint8Array[],
  fingerprint: boolean,
): Uint8Array {
  const length = attributes.reduce((sum, { length }) => sum + length, 0) + (fingerprint ? 8 : 0)
  const bytes = new Uint8Array(HEADER + length)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, type)
  // The length must include the fingerprint before the fingerprint is computed.
  view.setUint16(2, length)
  bytes.set(transaction, 4)
  let at = HEADER
  for (const one of attributes) {
    bytes.set(one, at)
    at += one.length
  }
  if (fingerprint) {
    view.setUint32(at, (FINGERPRINT << 16) | 4)
    view.setUint32(at + 4, fingerprintOf(bytes.subarray(0, at)))
  }
  return bytes
}

function attribute(type: number, value: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(4 + Math.ceil(value.length / 4) * 4)
  new DataView(bytes.buffer).setUint32(0, (type << 16) | value.length)
  bytes.set(value, 4)
  return bytes
}

/** Family, port and address, XORed with the cookie and transaction ID, because some NATs rewrite plain addresses. */
function xorMapped({ address, port }: Source, transaction: Uint8Array): number[] {
  const bytes = addressBytes(address)
  const mixed = bytes.map((byte, i) => byte ^ transaction[i]!)
  return [
    0,
    bytes.length === 4 ? 1 : 2,
    (port >> 8) ^ transaction[0]!,
    (port & 0xff) ^ transaction[1]!,
    ...mixed,
  ]
}

function addressBytes(address: string): number[] {
  const quad = /(?:^|:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  if (quad && (!address.includes(':') || address.startsWith('::ffff:'))) return quad.slice(1).map(Number)
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::')
  const groups = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const front = groups(head)
  const back = groups(tail)
  const all = [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
  return all.flatMap((group) => [group >> 8, group & 0xff])
}

const listed = (types: readonly number[]) =>
  types.slice(0, MAX_UNKNOWN).flatMap((type) => [type >> 8, type & 0xff])

const fingerprintOf = (bytes: Uint8Array): number => (crc32(bytes) ^ 0x5354554e) >>> 0
