// Whether a step that was computed again is the one that was claimed. Equal builds on equal processors give equal bits.
// Others add in another order, so their steps differ by rounding: the tolerance is measured, see docs/results/audits.md.

import type { StateHashes } from '../../../protocol/wire/index.ts'
import { type FullState, hashesOf } from './state.ts'

export interface Difference {
  /** Of the two movements of the weights; 1 if they are equal. */
  cosine: number
  /** Lengths of differences, relative to what was computed here: of the movement, and of both moments. */
  movement: number
  first: number
  second: number
}

export const SAME: Difference = { cosine: 1, movement: 0, first: 0, second: 0 }

export function isSame(computed: FullState, claimed: StateHashes): boolean {
  const { steps, weights, moments } = hashesOf(computed)
  return steps === claimed.steps && weights === claimed.weights && moments === claimed.moments
}

export function differenceOf(before: FullState, computed: FullState, claimed: FullState): Difference {
  const size = before.weights.length
  const [dot, mine, theirs, apart] = [0, 0, 0, 0].map(() => ({ sum: 0 })) as [Sum, Sum, Sum, Sum]
  for (let i = 0; i < size; i++) {
    const a = computed.weights[i]! - before.weights[i]!
    const b = claimed.weights[i]! - before.weights[i]!
    dot.sum += a * b
    mine.sum += a * a
    theirs.sum += b * b
    apart.sum += (a - b) ** 2
  }
  const lengths = Math.sqrt(mine.sum * theirs.sum)
  return {
    cosine: lengths > 0 ? dot.sum / lengths : apart.sum === 0 ? 1 : 0,
    movement: relative(apart.sum, mine.sum),
    first: apartIn(computed.moments, claimed.moments, 0, size),
    second: apartIn(computed.moments, claimed.moments, size, 2 * size),
  }
}

interface Sum {
  sum: number
}

function apartIn(a: Float32Array, b: Float32Array, from: number, to: number): number {
  let [apart, length] = [0, 0]
  for (let i = from; i < to; i++) {
    apart += (a[i]! - b[i]!) ** 2
    length += a[i]! ** 2
  }
  return relative(apart, length)
}

/** Square root of the ratio of two squared lengths. */
function relative(apart: number, length: number): number {
  if (apart === 0) return 0
  return length > 0 ? Math.sqrt(apart / length) : Number.POSITIVE_INFINITY
}

/** Larger differences are not rounding. */
export const TOLERANCE: Omit<Difference, 'cosine'> = { movement: 0.005, first: 0.001, second: 0.001 }

/** How many times the tolerance the largest difference is. */
export function timesTolerated({ movement, first, second }: Difference): number {
  return Math.max(movement / TOLERANCE.movement, first / TOLERANCE.first, second / TOLERANCE.second)
}

/** What differs too much; undefined if nothing does. */
export function excess(difference: Difference): string | undefined {
  const { cosine, movement, first, second } = difference
  const percent = (share: number): string =>
    share < 10 ? `${(100 * share).toPrecision(2)} %` : `${Math.round(share)} times`
  if (!(movement <= TOLERANCE.movement))
    return `it moved the weights otherwise: the cosine of both movements is ${cosine.toFixed(3)}, and they are ${percent(movement)} of the right one's length apart`
  if (!(first <= TOLERANCE.first)) return `its first moments are ${percent(first)} off`
  if (!(second <= TOLERANCE.second)) return `its second moments are ${percent(second)} off`
  return undefined
}
