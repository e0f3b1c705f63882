// Watches the policy's entropy for jumps. Entropy falls naturally as a policy learns, mostly in the first
// steps, so a fixed floor is useless; a sudden jump away from the recent mean is the alarm sign.

import { createRunning } from './running.ts'

const Z = 6
const FADE = 0.9
const WARM_UP = 12
/** Smallest jump that counts, in nats per token. */
const LEAST_JUMP = 0.15
/** Smallest jump that counts, as a share of the mean. */
const LEAST_SHARE = 0.35
/** Consecutive odd steps before an alarm. */
const PATIENCE = 3

export interface EntropyWatch {
  /** A message once the entropy has been odd for several consecutive steps. */
  observe(entropy: number): string | undefined
}

export function createEntropyWatch(): EntropyWatch {
  const usual = createRunning(FADE)
  let strikes = 0
  return {
    observe(entropy) {
      const { count, mean, deviation } = usual
      const jump = Math.abs(entropy - mean)
      const isOdd = count >= WARM_UP && !(jump <= Math.max(Z * deviation, LEAST_JUMP, LEAST_SHARE * mean))
      if (!isOdd) {
        strikes = 0
        usual.add(entropy)
        return undefined
      }
      strikes += 1
      return strikes >= PATIENCE
        ? `the policy's entropy went from about ${mean.toFixed(2)} to ${entropy.toFixed(2)} nats per token`
        : undefined
    },
  }
}
