// Tries weights on this node's held-out questions: puts them in place, evaluates, and puts its own back unless the
// verdict is for the others.

import type { Evaluation } from '../../../protocol/api/index.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import { judge, type TaskAccuracy, type Verdict } from '../../trainer/heads/trial.ts'
import { type Layout, toWeights, type Vector } from '../../trainer/heads/vector.ts'

export interface TryingParts {
  policy: Pick<LivePolicy, 'trainer' | 'replace' | 'reference'>
  /** The newest evaluation. */
  evaluation(): Evaluation | undefined
  /** Evaluates the present weights, at the same questions each time, with so many answers to each. */
  evaluate(samples: number): Promise<Evaluation>
  /** Makes an evaluation of weights that the node keeps a part of its curve. */
  record(evaluation: Evaluation): void
}

/** Rejects, with own weights in place, if the evaluation fails. */
export async function tryWeights(
  {
    layout,
    weights,
    mustRise,
    samples,
  }: { layout: Layout; weights: Vector; mustRise: boolean; samples: number },
  parts: TryingParts,
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
