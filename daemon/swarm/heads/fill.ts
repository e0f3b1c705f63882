// Fills bytes of a known hash from a peer's answers. An answer that broke off is asked for again from where it ended.

import { WireFault } from '../../../protocol/wire/index.ts'
import { MessageTooLong, type Requests } from '../libp2p/streams.ts'
import { pause } from '../pause.ts'
import type { Clock, Log } from '../types.ts'
import type { Whole } from './whole.ts'

export interface FillOptions {
  peer: string
  protocol: string
  /** Bytes of a message. */
  maxMessage: number
  signal: AbortSignal
  /** Called with the bytes of each message, and with those so far. */
  onBytes(bytes: number, at: number): void
}

export interface FillParts {
  requests: Requests
  clock: Clock
  log: Log
  /** Peers that get nothing, and are not asked. */
  isMuted(peer: string): boolean
}

/** An answer that broke off is asked for again after these times. A lost connection needs a while to come back. */
const RESUME_MS = [2000, 10_000]

/** Asks for the rest again, if the peer had sent something before its answer broke off. Throws what `isLie` knows. */
export async function fill(
  whole: Whole,
  { peer, protocol, maxMessage, signal, onBytes }: FillOptions,
  { requests, clock, log, isMuted }: FillParts,
): Promise<void> {
  for (const wait of [0, ...RESUME_MS]) {
    if (wait > 0) await pause(wait, clock, signal)
    signal.throwIfAborted()
    if (isMuted(peer) || (wait === 0 && !requests.isConnected(peer))) return
    if (!requests.isConnected(peer)) continue
    const before = whole.at
    try {
      const question = whole.question()
      for await (const chunk of requests.ask({ peer, protocol, question }, { maxMessage, signal })) {
        whole.add(chunk)
        onBytes(chunk.length, whole.at)
        if (whole.isFull) return
      }
    } catch (error) {
      if (isLie(error)) throw error
      log('debug', 'an answer broke off', { peer, protocol, at: whole.at, error: String(error) })
    }
    // A peer that no longer has it, or has no bytes left for this hour, sends nothing at all.
    if (whole.at === before) return
  }
}

/** What no honest peer sends, whatever happens to it or to the link. */
export function isLie(error: unknown): boolean {
  return error instanceof MessageTooLong || (error instanceof WireFault && error.verdict === 'reject')
}
