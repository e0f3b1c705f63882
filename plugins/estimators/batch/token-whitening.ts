// Whitening over the tokens of a batch, like verl's `masked_whiten`: each token written by the policy counts
// once, so long answers count more. The variance has Bessel's correction, and epsilon is under the root.

import type { Group } from '../../../protocol/train/index.ts'
import { isScored } from '../shared/groups.ts'

interface TokenScale {
  centre: number
  /** 1 / deviation; 0 if there are too few tokens. */
  factor: number
}

/** Statistics over the policy's own tokens in scored rollouts. `values` is indexed by group, rollout and token. */
export function tokenScale(
  groups: readonly Group[],
  values: ReadonlyArray<ReadonlyArray<Float64Array>>,
  epsilon: number,
): TokenScale {
  let [count, sum, squares] = [0, 0, 0]
  const each = (visit: (value: number) => void): void =>
    groups.forEach(({ rollouts }, g) => {
      rollouts.forEach((rollout, r) => {
        if (!isScored(rollout)) return
        values[g]![r]!.forEach((value, t) => {
          if (rollout.lossMask?.[t] !== 0) visit(value)
        })
      })
    })
  each((value) => {
    count++
    sum += value
  })
  const centre = sum / Math.max(count, 1)
  each((value) => {
    squares += (value - centre) ** 2
  })
  return { centre, factor: count < 2 ? 0 : 1 / Math.sqrt(squares / (count - 1) + epsilon) }
}
