// Tries weights on this node's held-out questions: puts them in place, evaluates, and puts its own back unless the
// verdict is for the others.

import { type Evaluation, type HeadTrial, trialText } from '../../../protocol/api/index.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { HeadExchange, TriedHead } from '../../trainer/heads/exchange.ts'
import type { Partners } from '../../trainer/heads/partners.ts'
import type { Probation } from '../../trainer/heads/probation.ts'
import { judge, type TaskAccuracy, type Verdict } from '../../trainer/heads/trial.ts'
import { type Layout, toVector, toWeights, type Vector } from '../../trainer/heads/vector.ts'

export interface TrialParts {
  policy: Pick<LivePolicy, 'trainer' | 'replace' | 'reference'>
  /** The newest evaluation. */
  evaluation(): Evaluation | undefined
  /** Evaluates the present weights, at the same questions each time, with so many answers to each. */
  evaluate(samples: number): Promise<Evaluation>
  /** Makes an evaluation of weights that the node keeps a part of its curve. */
  record(evaluation: Evaluation): void
  now(): number
  log(message: string): void
}

export interface Trials {
  /** Stands where the peer stands, or else in the middle, if this node's held-out questions say so. */
  catchUp(head: TriedHead): Promise<void>
  /** Takes the mean of own weights and these heads if no own task loses by it; otherwise their peers are out. */
  merge(heads: readonly TriedHead[]): Promise<void>
  readonly newest: HeadTrial | undefined
}

/** Answers to each held-out question in the trial of a merge: one would tell only a fall by half from chance. */
const MERGE_ANSWERS = 4

export function createTrials(
  { layout }: { layout: Layout },
  parts: TrialParts & {
    exchange: Pick<HeadExchange, 'average' | 'admit' | 'dismiss' | 'reset'>
    partners: Pick<Partners, 'took'>
    probation: Pick<Probation, 'put' | 'passed'>
  },
): Trials {
  const { policy, exchange, partners, probation } = parts
  let newest: HeadTrial | undefined

  const attempt = async (
    how: HeadTrial['how'],
    heads: readonly TriedHead[],
    weights: Vector,
  ): Promise<boolean> => {
    const { version } = policy.reference()
    const mustRise = how === 'caught up'
    const tried = { layout, weights, mustRise, samples: mustRise ? 1 : MERGE_ANSWERS }
    const peers = heads.map(({ author }) => author)
    // What other heads were compared with may be gone.
    const verdict = await tryWeights(tried, parts).finally(exchange.reset)
    newest = { how, peers, ...verdict, at: parts.now() }
    parts.log(trialText(newest))
    if (!verdict.isTaken) return false
    for (const head of heads) partners.took(head, version)
    exchange.admit(peers, version)
    probation.passed(peers)
    return true
  }

  const merge = async (heads: readonly TriedHead[]): Promise<void> => {
    const { version } = policy.reference()
    const weights = toVector(layout, await policy.trainer.weights())
    if (await attempt('merged', heads, exchange.average({ version, weights }, heads))) return
    const peers = heads.map(({ author }) => author)
    probation.put(peers, version)
    exchange.dismiss(peers)
  }

  return {
    merge,
    async catchUp(best) {
      if (!(await attempt('caught up', [best], best.weights))) await merge([best])
    },
    get newest() {
      return newest
    },
  }
}

/** Rejects, with own weights in place, if the evaluation fails. */
async function tryWeights(
  {
    layout,
    weights,
    mustRise,
    samples,
  }: { layout: Layout; weights: Vector; mustRise: boolean; samples: number },
  parts: TrialParts,
): Promise<Verdict> {
  const { policy } = parts
  const newest = parts.evaluation()
  const isEnough = samples === 1 && newest?.version === policy.reference().version
  const before = isEnough ? newest : await parts.evaluate(samples)
  if (!isEnough) parts.record(before)
  const own = await policy.trainer.weights()
  let verdict: Verdict | undefined
  try {
    await policy.replace(toWeights(layout, weights), { isUrgent: true })
    const after = await parts.evaluate(samples)
    verdict = judge(accuracies(before, samples), accuracies(after, samples), { mustRise })
    if (verdict.isTaken) parts.record(after)
    return verdict
  } finally {
    if (!verdict?.isTaken) await policy.replace(own, { isUrgent: true })
  }
}

function accuracies({ tasks, prompts }: Evaluation, samples: number): TaskAccuracy[] {
  const all = Object.entries(tasks).sort(([a], [b]) => (a < b ? -1 : 1))
  const each = Math.max(1, (samples * prompts) / Math.max(1, all.length))
  return all.map(([task, accuracy]) => ({
    ...{ task, accuracy },
    // A share of 0 or 1 among few answers is not certain.
    error: Math.sqrt(Math.max(accuracy * (1 - accuracy), 0.25 / each) / each),
  }))
}
