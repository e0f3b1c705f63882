// Asking a peer for what one of its plugins would share with the same plugin here, over a stream of protocol /waggle/state/1.
// One request a stream; messages are length-prefixed. Since 1.1: a node of 1.0 does not speak it, which is no fault.
//
//   { "state": "kind/name", "version": number }  -> one message: { "bytes": its state }, or {} where it has none
//
// Only the envelope is defined here. The bytes are the plugin's own, in a form that the version numbers, and a peer may put
// anything there.

import { readCbor, writeCbor } from './cbor.ts'
import { malformed } from './fault.ts'
import { Fields } from './fields.ts'

export const STATE_PROTOCOL = '/waggle/state/1'
/** Of one plugin. A table of a few thousand numbers; gossip's largest frame has as many. */
export const MAX_STATE_BYTES = 65_536
export const MAX_STATE_REQUEST_BYTES = 256
/** The envelope of the largest. */
export const MAX_STATE_MESSAGE_BYTES = MAX_STATE_BYTES + 64
/** A plugin's kind and its name. */
export const STATE_NAME = /^[a-z][a-z-]{0,23}\/[a-z0-9][a-z0-9_.-]{0,38}$/
const MAX_VERSION = 0xffff_ffff

/** Which plugin's, and in what form. */
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

/** `undefined`: there is none. */
export function encodeState(bytes: Uint8Array | undefined): Uint8Array {
  return writeCbor(bytes === undefined ? {} : { bytes })
}

/** Throws WireFault. Unknown fields are skipped. */
export function decodeState(message: Uint8Array): Uint8Array | undefined {
  const bytes = Fields.of(readCbor(message), Number.POSITIVE_INFINITY).bytes('bytes')
  if (bytes !== undefined && bytes.length > MAX_STATE_BYTES) throw malformed('state too long')
  return bytes
}
