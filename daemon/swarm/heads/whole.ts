// Bytes while they arrive: chunks of a known size, in order, and nothing that was not promised. Nothing is allocated
// before the first chunk.

import { createHash } from 'node:crypto'
import { HEAD_CHUNK_BYTES, malformed } from '../../../protocol/wire/index.ts'

export interface Whole {
  /** Bytes so far. */
  readonly at: number
  readonly isFull: boolean
  /** Asks for the rest. */
  question(): Uint8Array
  /** Throws WireFault for a chunk of another size than the next one has. */
  add(chunk: Uint8Array): void
  /** All bytes, or undefined if some are missing. Throws WireFault if their hash is wrong. */
  done(): Uint8Array<ArrayBuffer> | undefined
}

/** `hash`: SHA-256 of the bytes, 64 hex digits. `ask` makes the question for the bytes from a chunk on. */
export function createWhole(
  { size, hash }: { size: number; hash: string },
  ask: (from: number) => Uint8Array,
): Whole {
  const digest = createHash('sha256')
  let bytes: Uint8Array<ArrayBuffer> | undefined
  let at = 0
  return {
    get at() {
      return at
    },
    get isFull() {
      return at === size
    },
    question: () => ask(at / HEAD_CHUNK_BYTES),
    add(chunk) {
      if (chunk.length !== Math.min(HEAD_CHUNK_BYTES, size - at)) throw malformed('a chunk of another size')
      bytes ??= new Uint8Array(size)
      bytes.set(chunk, at)
      digest.update(chunk)
      at += chunk.length
    },
    done() {
      if (at < size) return undefined
      if (digest.digest('hex') !== hash) throw malformed('its hash is wrong')
      return bytes
    },
  }
}
