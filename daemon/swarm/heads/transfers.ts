// Sends and fetches bytes of a known hash, in chunks, within an hourly limit for peers beyond the local network.

import { HEAD_CHUNK_BYTES } from '../../../protocol/wire/index.ts'
import { within } from '../within.ts'
import { type FillParts, fill, isLie } from './fill.ts'
import { createHourlyBytes } from './hourly-bytes.ts'
import { createWhole } from './whole.ts'

const NOTHING = () => {}
/** All peers that are not trusted get so much of the limit at most, together: there may be any number of them. */
const STRANGERS_SHARE = 1 / 4

export interface TransfersOptions {
  protocol: string
  /** Nothing waits longer for the bytes behind one hash. */
  fetchMs: number
  /** Bytes an hour, up and down each, 0 for no limit. Read on each use. */
  mostPerHour: () => number
  /** The node stops. */
  signal: AbortSignal
}

export interface TransferParts extends FillParts {
  /** True for peers on this machine or this local network, whose bytes no limit counts. */
  isNear(peer: string): boolean
  /** Members of a private swarm, and peers that the user vouches for. Default: all peers alike. */
  isTrusted?(peer: string): boolean
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
  { protocol, fetchMs, mostPerHour, signal }: TransfersOptions,
  parts: TransferParts,
): Transfers {
  const { clock, log, isTrusted = () => true } = parts
  const takeIn = createHourlyBytes({ most: mostPerHour }, { clock }).take
  const takeOut = createOutLimit({ mostPerHour, isTrusted }, parts)
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
      const giveBack = takeOut(whole.length - at, peer)
      if (!giveBack) {
        // Strangers could raise the count as they like.
        if (isTrusted(peer)) held++
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
      const giveBack = parts.isNear(peer) ? NOTHING : takeIn(size)
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

/** Gives what takes bytes for a peer, as an HourlyBytes does. */
function createOutLimit(
  { mostPerHour, isTrusted }: Pick<TransfersOptions, 'mostPerHour'> & { isTrusted(peer: string): boolean },
  { clock, isNear }: Pick<TransferParts, 'clock' | 'isNear'>,
): (bytes: number, peer: string) => ((unused: number) => void) | undefined {
  const all = createHourlyBytes({ most: mostPerHour }, { clock })
  const strangers = createHourlyBytes({ most: () => STRANGERS_SHARE * mostPerHour() }, { clock })
  return (bytes, peer) => {
    if (isNear(peer)) return NOTHING
    if (isTrusted(peer)) return all.take(bytes)
    const giveStrangers = strangers.take(bytes)
    if (!giveStrangers) return undefined
    const giveAll = all.take(bytes)
    if (!giveAll) {
      giveStrangers(bytes)
      return undefined
    }
    return (unused) => {
      giveStrangers(unused)
      giveAll(unused)
    }
  }
}
