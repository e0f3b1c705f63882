// Requests the state that a peer's plugin shares with the same plugin here, over a stream of protocol
// /waggle/state/1. One request per stream; messages are length-prefixed. New in 1.1: nodes of 1.0 do not speak it,
// which is not a fault.
//
//   { "state": "kind/name", "version": number }  -> one message: { "bytes": its state }, or {} if it has none
//
// Only the envelope is defined here. The bytes are in the plugin's own format, which the version identifies, and a
// peer may send anything there.

import { readCbor, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { Fields } from '../fields.ts'

export const STATE_PROTOCOL = '/waggle/state/1'
/** Maximum state per plugin: a few thousand numbers, as large as the largest gossip frame. */
export const MAX_STATE_BYTES = 65_536
export const MAX_STATE_REQUEST_BYTES = 256
/** Size of the largest state with its envelope. */
export const MAX_STATE_MESSAGE_BYTES = MAX_STATE_BYTES + 64
/** A plugin's kind and its name. */
export const STATE_NAME = /^[a-z][a-z-]{0,23}\/[a-z0-9][a-z0-9_.-]{0,38}$/
const MAX_VERSION = 0xffff_ffff

/** The plugin, and the format version. */
export interface StateRequest {
  name: string
  version: number
}

export function encodeStateRequest({ name, version }: StateRequest): Uint8Array {
  return writeCbor({ state: name, version })
}

/** Throws WireFault. Unknown fields are skipped. */
export function decodeStateRequest(bytes: Uint8Array): StateRequest {
  const fields = Fields.of(readCbor(bytes), Number.POSITIVE_INFINITY)
  return { name: fields.name('state', STATE_NAME), version: fields.integer('version', 0, MAX_VERSION) }
}

/** Pass undefined if there is no state. */
export function encodeState(bytes: Uint8Array | undefined): Uint8Array {
  return writeCbor(bytes === undefined ? {} : { bytes })
}

/** Throws WireFault. Unknown fields are skipped. */
export function decodeState(message: Uint8Array): Uint8Array | undefined {
  const bytes = Fields.of(readCbor(message), Number.POSITIVE_INFINITY).bytes('bytes')
  if (bytes !== undefined && bytes.length > MAX_STATE_BYTES) throw malformed('state too long')
  return bytes
}
