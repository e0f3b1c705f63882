// How much the answers of a group agree, by what the task's verifier takes for the answer. All without one count as the same.

import type { Context } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'

/** Of the share of each different answer, in nats. */
export function answerEntropy({ prompt }: Group, rollouts: readonly Rollout[], context: Context): number {
  const counts = new Map<string | null, number>()
  for (const { text } of rollouts) {
    const { answer } = context.verify(prompt, text)
    counts.set(answer, (counts.get(answer) ?? 0) + 1)
  }
  let entropy = 0
  for (const count of counts.values()) {
    const share = count / rollouts.length
    entropy -= share * Math.log(share)
  }
  return entropy
}
