// The step beside the own one (`../side-step.ts` says how and why), in place on flat arrays in the host's memory.

import type { Metric } from '../side-step.ts'
import type { Arena } from './arena.ts'

/** Squared lengths of two gradients in the metric. */
export function squaredLengths(
  [{ flat: a }, { flat: b }]: readonly [Arena, Arena],
  { flat: second }: Arena,
  { secondScale, epsilon, clip, most }: Metric,
): [number, number] {
  let [ofA, ofB] = [0, 0]
  for (let i = 0; i < second.length; i++) {
    const factor = clip / (Math.sqrt(second[i]!) * secondScale + epsilon)
    ofA += Math.min(most, Math.abs(a[i]! * factor)) ** 2
    ofB += Math.min(most, Math.abs(b[i]! * factor)) ** 2
  }
  return [ofA, ofB]
}

/** Moves the weights against the side's gradient; `rate` is the learning rate times what the limit leaves of the side. */
export function applySideStep(
  { flat: side }: Arena,
  rate: number,
  { secondScale, epsilon, clip, most }: Metric,
  { weights: { flat: weights }, second: { flat: second } }: { weights: Arena; second: Arena },
): void {
  for (let i = 0; i < weights.length; i++) {
    const ratio = (side[i]! * clip) / (Math.sqrt(second[i]!) * secondScale + epsilon)
    weights[i] = weights[i]! - rate * Math.max(-most, Math.min(most, ratio))
  }
}
