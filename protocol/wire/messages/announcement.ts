// Announces a group that is too large for gossip: its prompt, its size, and the hash to fetch it by. Signed by the
// author, like everything on the topic.

import { Buffer } from 'node:buffer'
import type { PromptCoordinates } from '../../train/index.ts'
import { readCbor, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { Fields } from '../fields.ts'
import { authorOf, type Frame, KIND, type Signer, sealFrame } from '../frame.ts'
import { MAX_FETCHED_BYTES, MAX_GOSSIP_BYTES } from '../limits.ts'
import { promptBody, readPrompt } from '../prompt.ts'

export interface Announcement {
  prompt: PromptCoordinates
  /** SHA-256 of the group's frame, 64 hex digits. */
  hash: string
  /** Bytes of the group's frame. */
  size: number
  author: string
  /** The announcement's own sequence number; the group's frame has the one just before. */
  sequence: number
  createdAt: number
}

export function encodeAnnouncement(announcement: Omit<Announcement, 'author'>, signer: Signer): Uint8Array {
  const { prompt, hash, size, sequence, createdAt } = announcement
  const body = {
    prompt: promptBody(prompt),
    hash: Buffer.from(hash, 'hex'),
    size,
    sequence,
    created: createdAt,
  }
  return sealFrame(KIND.announcement, writeCbor(body), signer)
}

/** Throws WireFault. Does not check the signature: see isAuthentic. */
export function decodeAnnouncement(frame: Frame): Announcement {
  if (frame.kind !== KIND.announcement) throw malformed('not an announcement')
  const body = Fields.of(readCbor(frame.body), frame.minor)
  const announcement: Announcement = {
    prompt: readPrompt(body.fields('prompt')),
    hash: body.digest('hash'),
    // Smaller groups are sent by gossip.
    size: body.integer('size', MAX_GOSSIP_BYTES + 1, MAX_FETCHED_BYTES),
    author: authorOf(frame),
    sequence: body.integer('sequence', 0),
    createdAt: body.integer('created', 0),
  }
  body.end()
  return announcement
}
