// Sends and fetches bytes of a known hash, in chunks, within an hourly limit for peers beyond the local network.

import { HEAD_CHUNK_BYTES } from '../../../protocol/wire/index.ts'
import { within } from '../within.ts'
import { type FillParts, fill, isLie } from './fill.ts'
import type { TransferLimits } from './transfer-limits.ts'
import { createWhole } from './whole.ts'

export interface TransfersOptions {
  protocol: string
  /** Nothing waits longer for the bytes behind one hash. */
  fetchMs: number
  /** The node stops. */
  signal: AbortSignal
}

export interface TransferParts extends FillParts {
  /** Shared with all other transfers. */
  limits: TransferLimits
  /** The peer answered with something other than what was asked for. */
  onLie(peer: string): void
}

export interface Transfers {
  /** The bytes from a chunk on; true once all were taken. Nothing if the limit does not allow them. */
  send(bytes: Uint8Array, from: number, peer: string): Generator<Uint8Array, boolean>
  /**
   * Undefined if the bytes do not come, or fail their hash. `question` asks for those from a chunk on, `onHeld`
   * is called if the limit does not allow them. Never rejects.
   */
  fetch(
    peer: string,
    wanted: { hash: string; size: number; question(from: number): Uint8Array; onHeld?(): void },
    onProgress?: (bytes: number) => void,
  ): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** An answer was none: charges the peer if it lied. */
  failed(peer: string, error: unknown): void
  /** Since the start. */
  readonly bytes: { in: number; out: number }
  /** What was not fetched, or not sent to a trusted peer, since the start, because the limit for this hour was used up. */
  readonly held: number
}

export function createTransfers(
  { protocol, fetchMs, signal }: TransfersOptions,
  parts: TransferParts,
): Transfers {
  const { clock, log, limits } = parts
  const bytes = { in: 0, out: 0 }
  let held = 0

  const failed = (peer: string, error: unknown): void => {
    // Older nodes do not speak every protocol, and a link may break at any time.
    log('debug', 'no answer', { peer, protocol, error: String(error) })
    if (isLie(error)) parts.onLie(peer)
  }

  return {
    bytes,
    failed,
    get held() {
      return held
    },

    *send(whole, from, peer) {
      let at = from * HEAD_CHUNK_BYTES
      if (at >= whole.length) return false
      const giveBack = limits.takeOut(whole.length - at, peer)
      if (!giveBack) {
        // Strangers could raise the count as they like.
        if (limits.isTrusted(peer)) held++
        return false
      }
      try {
        while (at < whole.length) {
          const chunk = whole.subarray(at, at + HEAD_CHUNK_BYTES)
          at += chunk.length
          bytes.out += chunk.length
          yield chunk
        }
      } finally {
        giveBack(whole.length - at)
      }
      return true
    },

    async fetch(peer, { hash, size, question, onHeld }, onProgress) {
      const giveBack = limits.takeIn(size, peer)
      if (!giveBack) {
        held++
        onHeld?.()
        return undefined
      }
      const whole = createWhole({ size, hash }, question)
      const onBytes = (chunk: number, at: number): void => {
        bytes.in += chunk
        onProgress?.(at)
      }
      try {
        await within(fetchMs, { clock, signal }, (inTime) =>
          fill(
            whole,
            { ...{ peer, protocol, signal: inTime, maxMessage: HEAD_CHUNK_BYTES }, onBytes },
            parts,
          ),
        )
        return whole.done()
      } catch (error) {
        failed(peer, error)
        return undefined
      } finally {
        giveBack(size - whole.at)
      }
    },
  }
}
