// Structural-entropy ranking of failures (R³, arXiv 2601.19620): high entropy peaks and a low mean entropy
// rank first.
//
// A beats B if the mean of A's k highest entropies is above B's and the mean of all its entropies is below
// B's. Wins are counted, and rewards are spread evenly from the most wins down to none. The paper does not define
// ties: here rollouts with equal wins share their average rank, so that the order of rollouts does not matter and
// equal ones give no signal.

import type { Context } from '../../protocol/plugin/index.ts'
import { type Group, writtenOf } from '../../protocol/train/index.ts'

interface Structure {
  peak: number
  mean: number
}

/** k is `share` of the tokens, at least one. Undefined if there are no tokens. */
export function structureOf(entropies: Float32Array, share: number): Structure | undefined {
  if (entropies.length === 0) return undefined
  const highest = Float64Array.from(entropies).sort().reverse()
  const k = Math.max(1, Math.floor(share * highest.length))
  const mean = (values: Float64Array): number => values.reduce((a, b) => a + b, 0) / values.length
  return { peak: mean(highest.subarray(0, k)), mean: mean(highest) }
}

export function winsOf(rows: readonly (Structure | undefined)[]): number[] {
  return rows.map(
    (a) =>
      rows.filter((b) => a !== undefined && b !== undefined && a.peak > b.peak && a.mean < b.mean).length,
  )
}

/** One reward per row, from `most` for the most wins down to 0. A single row gets 0. */
export function rankRewards(wins: readonly number[], most: number): number[] {
  const last = wins.length - 1
  if (last < 1) return wins.map(() => 0)
  return wins.map((own) => {
    const better = wins.filter((other) => other > own).length
    const equal = wins.filter((other) => other === own).length
    return most * (1 - (better + (equal - 1) / 2) / last)
  })
}

/** The sampler's recorded entropies, or else those of the current policy. */
export async function entropiesOf(
  { rollouts, conditioning }: Group,
  context: Context,
): Promise<Float32Array[]> {
  if (rollouts.every(({ entropies, tokens }) => entropies?.length === tokens.length))
    return rollouts.map((rollout) => writtenOf(rollout.entropies!, rollout))
  const scored = await context.score(
    rollouts.map((rollout) => ({
      conditioning: rollout.conditioning ?? conditioning,
      completion: rollout.tokens,
    })),
  )
  return scored.map(({ entropies }, i) => writtenOf(entropies, rollouts[i]!))
}
