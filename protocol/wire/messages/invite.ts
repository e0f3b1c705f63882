// An invite: one text with everything that a node needs to join a swarm. It is `waggle1` followed by base64url of
// canonical CBOR, preceded by the first four bytes of its SHA-256, which reveal a truncated or mistyped invite.
//
// For a private swarm it contains the pre-shared key, so whoever has the invite can join.

import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { WaggleError } from '../../errors.ts'
import { readCbor, type Value, type Writable, writeCbor } from '../cbor.ts'
import { Fields, list } from '../fields.ts'
import { type Contact, MAX_CONTACTS, type Rules, readContact, SWARM_NAME } from './hello.ts'

export interface Invite {
  swarm: string
  /** The inviting node comes first. */
  contacts: Contact[]
  /** Digest of the inviting node's rules; see rulesDigest. */
  rules: string
  /** `host:port` of STUN servers, for WebRTC between nodes behind NATs. */
  stun?: string[]
  /** Pre-shared key of a private swarm: 32 bytes. */
  psk?: Uint8Array
}

export const INVITE_PREFIX = 'waggle1'
/** Eight contacts with four addresses take about 3000 characters, which chats and e-mails still accept. */
export const MAX_INVITE_CHARS = 8192
const KEY_BYTES = 32
const MAX_STUN = 4
/** A name, an IPv4 address or an IPv6 address in brackets, and a port. */
export const STUN_SERVER = /^(?:[A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:]{2,45}\]):\d{1,5}$/

export function encodeInvite(invite: Invite): string {
  const body: { [key: string]: Writable } = {
    swarm: invite.swarm,
    contacts: invite.contacts
      .slice(0, MAX_CONTACTS)
      .map(({ peerId, addresses }) => [peerId, addresses.slice(0, 4)]),
    rules: Buffer.from(invite.rules, 'hex'),
    ...(invite.stun?.length && { stun: invite.stun.slice(0, MAX_STUN) }),
    ...(invite.psk && { psk: invite.psk }),
  }
  const bytes = writeCbor(body)
  return INVITE_PREFIX + Buffer.concat([checksum(bytes), bytes]).toString('base64url')
}

export function isInvite(text: string): boolean {
  return text.trim().startsWith(INVITE_PREFIX)
}

/** Throws E_PEER with a hint. */
export function decodeInvite(text: string): Invite {
  const compact = text.replace(/\s+/g, '')
  try {
    if (!isInvite(compact) || compact.length > MAX_INVITE_CHARS) throw new Error('not an invite')
    const all = Buffer.from(compact.slice(INVITE_PREFIX.length), 'base64url')
    const bytes = Uint8Array.from(all.subarray(4))
    if (!checksum(bytes).equals(all.subarray(0, 4))) throw new Error('its checksum does not fit')
    const fields = Fields.of(readCbor(bytes), Number.POSITIVE_INFINITY)
    const psk = fields.bytes('psk')
    if (psk !== undefined && psk.length !== KEY_BYTES) throw new Error('its key has the wrong length')
    return {
      swarm: fields.name('swarm', SWARM_NAME),
      contacts: list(fields.get('contacts'), 1, MAX_CONTACTS).map(readContact),
      rules: fields.digest('rules'),
      ...stunOf(fields.get('stun')),
      ...(psk && { psk }),
    }
  } catch (cause) {
    throw new WaggleError('E_PEER', `this invite cannot be read: ${(cause as Error).message}`, {
      hint: 'Copy the whole string that `waggle invite` printed on the other node; it may have been cut off or changed on the way.',
      cause,
    })
  }
}

function stunOf(value: Value | undefined): { stun?: string[] } {
  if (value === undefined) return {}
  const stun = list(value, 0, MAX_STUN).map((server) => {
    if (typeof server !== 'string' || !STUN_SERVER.test(server))
      throw new Error('a STUN server makes no sense')
    return server
  })
  return { stun }
}

/** 64 hex digits, equal for nodes with the same swarm name and the same tasks. */
export function rulesDigest({ swarm, tasks }: Rules): string {
  const sorted = tasks.map(({ name, version }) => `${name}@${version}`).sort()
  return createHash('sha256')
    .update(writeCbor(['waggle/rules/1', swarm, sorted]))
    .digest('hex')
}

function checksum(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest().subarray(0, 4)
}
