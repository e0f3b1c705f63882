// Watches the policy's entropy against the run's own curve. It falls by itself as a policy learns (by most of its value
// in the first steps), so a fixed floor says nothing; what is alarming is a jump away from where it has just been.

import { createRunning } from './running.ts'

const Z = 6
const FADE = 0.9
const WARM_UP = 12
/** Nats per token, and of the mean: a jump smaller than both is none. */
const LEAST_JUMP = 0.15
const LEAST_SHARE = 0.35
/** Steps in a row. */
const PATIENCE = 3

export interface EntropyWatch {
  /** A line that says what is wrong, once it has been so for several steps in a row. */
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
