// Measures how much the answers of a group agree, as extracted by the task's verifier. Completions without an
// answer count as having the same answer.

import type { Context } from '../../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'

/** Entropy of the distribution of different answers, in nats. */
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
