// Watches the policy's entropy for jumps. Entropy falls naturally as a policy learns, mostly in the first steps, so a
// fixed floor is useless. The alarm sign is a sudden jump away from the recent mean.

import { createRunning } from './running.ts'

const Z = 6
const FADE = 0.9
const WARM_UP = 12
/** Smallest jump that counts, in nats per token. */
const MIN_JUMP = 0.15
/** Smallest jump that counts, as a share of the mean. */
const MIN_SHARE = 0.35
/** Number of consecutive steps with a jump before an alarm. */
const PATIENCE = 3

interface EntropyWatch {
  /** Takes a step's entropy, in nats per token. Returns a message once it has jumped for several consecutive steps. */
  observe(entropy: number): string | undefined
}

export function createEntropyWatch(): EntropyWatch {
  const runningMean = createRunning(FADE)
  let strikes = 0
  return {
    observe(entropy) {
      const { count, mean, deviation } = runningMean
      const jump = Math.abs(entropy - mean)
      const isOdd = count >= WARM_UP && !(jump <= Math.max(Z * deviation, MIN_JUMP, MIN_SHARE * mean))
      if (!isOdd) {
        strikes = 0
        runningMean.add(entropy)
        return undefined
      }
      strikes += 1
      return strikes >= PATIENCE
        ? `the policy's entropy went from about ${mean.toFixed(2)} to ${entropy.toFixed(2)} nats per token`
        : undefined
    },
  }
}
