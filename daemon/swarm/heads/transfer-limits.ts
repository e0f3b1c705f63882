// The hourly limit on bytes of heads, and of what is behind receipts, to and from peers beyond the local network.

import type { Clock } from '../types.ts'
import { createHourlyBytes } from './hourly-bytes.ts'

const NOTHING = () => {}
/** All peers that are not trusted get so much of the limit at most, together: there may be any number of them. */
const STRANGERS_SHARE = 1 / 4

interface TransferLimitsOptions {
  /** Bytes an hour, up and down each, 0 for no limit. Read on each use. Default: no limit. */
  mostPerHour?: (() => number) | undefined
}

interface TransferLimitsParts {
  clock: Clock
  /** True for peers on this machine or this local network, whose bytes no limit counts. Default: none. */
  isNear?: ((peer: string) => boolean) | undefined
  /** Members of a private swarm, and peers that the user vouches for. Default: none. */
  isTrusted?: ((peer: string) => boolean) | undefined
}

/**
 * Counts these bytes, or nothing and gives undefined if the limit does not allow them. Call what it gives with the bytes
 * that were not used after all.
 */
type Take = (bytes: number, peer: string) => ((unused: number) => void) | undefined

export interface TransferLimits {
  takeIn: Take
  takeOut: Take
  isTrusted(peer: string): boolean
}

export function createTransferLimits(
  { mostPerHour = () => 0 }: TransferLimitsOptions,
  { clock, isNear = () => false, isTrusted = () => false }: TransferLimitsParts,
): TransferLimits {
  const allIn = createHourlyBytes({ most: mostPerHour }, { clock })
  const allOut = createHourlyBytes({ most: mostPerHour }, { clock })
  const strangersOut = createHourlyBytes({ most: () => STRANGERS_SHARE * mostPerHour() }, { clock })
  return {
    isTrusted,
    takeIn: (bytes, peer) => (isNear(peer) ? NOTHING : allIn.take(bytes)),
    takeOut(bytes, peer) {
      if (isNear(peer)) return NOTHING
      if (isTrusted(peer)) return allOut.take(bytes)
      const giveStrangers = strangersOut.take(bytes)
      if (!giveStrangers) return undefined
      const giveAll = allOut.take(bytes)
      if (!giveAll) {
        giveStrangers(bytes)
        return undefined
      }
      return (unused) => {
        giveStrangers(unused)
        giveAll(unused)
      }
    },
  }
}
