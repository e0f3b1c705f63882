// D3S: trains on the few most informative rollouts and tokens, and on more of them as training proceeds.
//
//   of each group, then of the batch: the rollouts whose advantages have the largest variance
//   of their tokens: those with the largest |A| H, where H is the policy's entropy
//   the shares that are kept grow linearly over `steps`
//
// After Wang et al. 2025 (Learning More with Less: A Dynamic Dual-Level Down-Sampling Framework, arXiv 2509.22115). The
// two selections and the schedule are the paper's. Its constants are not known to us, nor whether tokens are chosen
// within an answer or, as here, among all remaining ones. The paper saves time by not computing what it leaves out.
// Here what is left out gets weight 0, and the rest a larger weight, so that the mean is over what is kept; this saves
// no time.
//
// Try it with large groups, where most rollouts are similar.

import { z } from 'zod'
import { column, greater } from '../../protocol/plugin/expression/expression.ts'
import { type Advantages, type Context, type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { type Group, writtenPositions } from '../../protocol/train/index.ts'

const share = z.number().positive().max(1)
const settings = z.strictObject({
  /** Share of each group's rollouts that are kept, at the start and at the end. */
  rollouts: z.tuple([share, share]).default([0.5, 1]),
  /** Share of the batch's remaining rollouts that are kept. */
  batch: share.default(0.75),
  /** Share of their tokens that are kept, at the start and at the end. */
  tokens: z.tuple([share, share]).default([0.2, 1]),
  /** Optimizer steps from the start to the end. */
  steps: z.int().positive().default(200),
})

interface Row {
  group: number
  rollout: number
  /** Mean over its tokens, if each has its own advantage. */
  advantage: number
}

export default definePlugin({
  name: 'd3s_like',
  kind: 'correction',
  api: 1,
  summary: 'Learns from the rollouts and tokens that say most, later from more.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ rollouts, batch, tokens, steps }) => ({
    correct(): Correction {
      const weight = column('d3s_like.weight')
      return { weight, metrics: { kept: greater(weight, 0) }, columns: { weight: 1 } }
    },
    async columns(advantages, groups, context) {
      const progress = Math.min(1, context.step / steps)
      const now = ([first, last]: readonly [number, number]): number => first + progress * (last - first)
      const chosen = groups.map((group, g) => {
        const rows = rowsOf(group, g, advantages)
        return mostVaried(rows, Math.ceil(now(rollouts) * rows.length))
      })
      const all = chosen.flat()
      const rows = mostVaried(all, Math.ceil(batch * all.length))
      context.metric('rollouts', rows.length)
      return { weight: await weightsOf(rows, now(tokens), { advantages, groups, context }) }
    },
  }),
})

function rowsOf({ rollouts }: Group, group: number, advantages: Advantages): Row[] {
  return rollouts.map((one, rollout) => {
    const positions = writtenPositions(one)
    const sum = positions.reduce((total, at) => total + advantageOf(advantages[group]![rollout]!, at), 0)
    return { group, rollout, advantage: sum / Math.max(1, positions.length) }
  })
}

/** The `count` rows whose advantages have the largest variance: some of the highest and some of the lowest. */
export function mostVaried<T extends { advantage: number }>(rows: readonly T[], count: number): T[] {
  const sorted = [...rows].sort((a, b) => b.advantage - a.advantage)
  let best: T[] = []
  let most = -1
  for (let high = 0; high <= Math.min(count, sorted.length); high++) {
    const some = [...sorted.slice(0, high), ...sorted.slice(sorted.length - (count - high))]
    const spread = variance(some.map(({ advantage }) => advantage))
    if (spread > most + 1e-12) [best, most] = [some, spread]
  }
  return best
}

function variance(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length)
}

/** Weights: 0 for what is left out, and for the rest such that the mean over all tokens equals that over kept ones. */
async function weightsOf(
  rows: readonly Row[],
  kept: number,
  { advantages, groups, context }: { advantages: Advantages; groups: readonly Group[]; context: Context },
): Promise<Advantages> {
  const written = rows.map(({ group, rollout }) => groups[group]!.rollouts[rollout]!)
  const scored = await context.score(
    written.map(({ conditioning, tokens }, i) => ({
      conditioning: conditioning ?? groups[rows[i]!.group]!.conditioning,
      completion: tokens,
    })),
  )
  const candidates = rows.flatMap(({ group, rollout }, i) =>
    writtenPositions(written[i]!).map((at) => ({
      ...{ group, rollout, at },
      key: Math.abs(advantageOf(advantages[group]![rollout]!, at)) * scored[i]!.entropies[at]!,
    })),
  )
  const chosen = candidates.sort((a, b) => b.key - a.key).slice(0, Math.ceil(kept * candidates.length))
  const total = groups.reduce(
    (sum, { rollouts }) => sum + rollouts.reduce((length, one) => length + writtenPositions(one).length, 0),
    0,
  )
  const weights = groups.map(({ rollouts }) => rollouts.map(({ tokens }) => new Float32Array(tokens.length)))
  for (const { group, rollout, at } of chosen) weights[group]![rollout]![at] = total / chosen.length
  return weights
}

function advantageOf(advantage: number | Float32Array, at: number): number {
  return typeof advantage === 'number' ? advantage : advantage[at]!
}
