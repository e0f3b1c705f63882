// How long a stranger takes to climb, and how soon one is found that forges, by what audits may cost: the daemon's
// ladder and budget, without engines and networks.
//   node scripts/sim/ladder.ts [seeds=500]
//
// All nodes step equally fast, and an audit takes as long as a step (docs/results/audits.md). A follower looks every
// eight steps, as often as receipts are made where a step takes 2.5 s, and exchanges weights every two. From its first
// weights that count on, the stranger forges a share of its steps, at random. Several followers tell one another what
// they find. The first rows are without a budget: an audit at each look.

import { randomStream } from '../../daemon/host/random.ts'
import { createAuditBudget } from '../../daemon/trainer/audit/budget.ts'
import { createLadder, type Ladder } from '../../daemon/trainer/audit/ladder.ts'
import { EDGES, oddsOf, uncalibrated } from '../../daemon/trainer/sharing/typicality.ts'
import type { Receipt, ReceiptStep, StateHashes } from '../../protocol/wire/index.ts'

const seeds = Number(process.argv[2] ?? 500)
const [LOOK, EXCHANGE, RECEIPT, MOST_STEPS] = [8, 2, 16, 4000]
const evidence = { counts: [0, 1].flatMap(() => EDGES.map((edge, i) => 4000 * (edge - (EDGES[i - 1] ?? 0)))) }
const stateAt = (steps: number): StateHashes => ({ steps, weights: `w${steps}`, moments: `m${steps}` })
const stepAt = (version: number): ReceiptStep => ({
  ...{ version, before: stateAt(version), after: stateAt(version + 1), groups: [], joined: [] },
  batch: { hash: 'b', size: 1 },
})
const receiptAt = (at: number): Receipt => ({
  ...{ lineage: '', method: '', build: '', author: 'stranger', createdAt: 0 },
  steps: Array.from({ length: Math.min(RECEIPT, at) }, (_, i) => stepAt(at - Math.min(RECEIPT, at) + i)),
})

interface Follower {
  ladder: Ladder
  draws(): boolean
  spent(): void
  /** When it looks: not all at once. */
  phase: number
}

/** Steps until the weights count, then until it is found, and how often forged weights were taken. */
function play(
  seed: number,
  { share, followers, isFree }: { share: number; followers: number; isFree: boolean },
) {
  const random = randomStream(seed, `stranger ${share} ${followers}`)
  const clock = { at: 0 }
  const all: Follower[] = Array.from({ length: followers }, (_, i) => {
    const budget = createAuditBudget({}, { processorSeconds: () => clock.at, random })
    const parts = { hasHead: () => false, odds: () => oddsOf(uncalibrated()), random }
    const ladder = createLadder({ first: stateAt(0) }, parts)
    return {
      ladder,
      draws: isFree ? () => true : budget.draws,
      spent: () => budget.spent(1),
      phase: (i * LOOK) / followers,
    }
  })
  const forged = new Set<number>()
  let climbed: number | undefined
  let taken = 0
  for (clock.at = 1; clock.at < MOST_STEPS; clock.at++) {
    const { at } = clock
    if (climbed !== undefined && random() < share) forged.add(at - 1)
    for (const { ladder, draws, spent, phase } of all) {
      if ((at + Math.floor(phase)) % LOOK !== 0) continue
      const receipt = receiptAt(at)
      const look = ladder.look(receipt, draws, 0)
      if (typeof look === 'string') continue
      if ('broken' in look) throw new Error(look.broken)
      spent()
      if (forged.has(look.drawn.step.version)) return { climbed: climbed!, found: at - climbed!, taken }
      ladder.passed(receipt, evidence)
      if (ladder.weight('stranger') === 0) continue
      climbed ??= at
      if (forged.size > 0) taken++
    }
  }
  return { climbed: climbed ?? Number.POSITIVE_INFINITY, found: Number.POSITIVE_INFINITY, taken }
}

const quantile = (of: readonly number[], q: number): string => {
  const value = of.toSorted((a, b) => a - b)[Math.min(of.length - 1, Math.floor(q * of.length))]! / EXCHANGE
  return Number.isFinite(value) ? String(Math.ceil(value)) : 'never'
}
console.log(
  '| forged | followers | counts after (exchanges, median, 99 %) | found within 20 | found after (median, 99 %) | forged weights taken (mean, 99 %) | found before 20 were taken |',
)
for (const [followers, isFree] of [
  [1, true],
  [1, false],
  [2, false],
  [4, false],
] as const)
  for (const share of [1, 0.5, 0.1, 0.02]) {
    const runs = Array.from({ length: seeds }, (_, seed) => play(seed, { share, followers, isFree }))
    const [climbed, found] = [runs.map((run) => run.climbed), runs.map((run) => run.found)]
    const taken = runs.map((run) => run.taken).toSorted((a, b) => a - b)
    const soon = found.filter((steps) => steps <= 20 * EXCHANGE).length / seeds
    const before = runs.filter((run) => Number.isFinite(run.found) && run.taken < 20).length / seeds
    const mean = taken.reduce((a, b) => a + b, 0) / seeds
    console.log(
      `| ${100 * share} % | ${followers}${isFree ? ', an audit each look' : ''} | ${quantile(climbed, 0.5)}, ${quantile(climbed, 0.99)} | ${(100 * soon).toFixed(1)} % | ${quantile(found, 0.5)}, ${quantile(found, 0.99)} | ${mean.toFixed(2)}, ${taken[Math.floor(0.99 * seeds)]} | ${(100 * before).toFixed(1)} % |`,
    )
  }
