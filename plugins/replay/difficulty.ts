// How hard prompts are now, and which of them to ask: DOTS (arXiv 2506.05316), with a Beta tracker as its predictor.
//
// P(q) proportional to exp(-|d - alpha| / tau), d the share of right answers. The paper predicts d from a trained
// embedding of the question and a set of reference prompts that are rolled out for it; here it is the posterior mean
// of a prompt's own past rollouts, older ones counting less, which costs no rollouts but knows nothing of new prompts
// (they are at 0.5, and so come first). The paper's calibration of d is kept as a setting: sigmoid(logit(d) / scale +
// tanh(shift)), the identity by default.

import { type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'

const LOWEST = 1e-4
/** Below exp(-700) a weight is too near the smallest number to multiply with others. */
const FARTHEST = 700
const MOST = 65_536

export function calibrated(base: number, { scale, shift }: { scale: number; shift: number }): number {
  const inside = Math.min(1 - LOWEST, Math.max(LOWEST, base))
  const logit = Math.log(inside / (1 - inside)) / Math.min(10, Math.max(0.01, scale)) + Math.tanh(shift)
  return 1 / (1 + Math.exp(-logit))
}

/** exp(logit - highest): the same whatever is added to all logits. */
export function weightsOf(logits: readonly number[]): number[] {
  const highest = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  return logits.map((logit) => Math.exp(Math.max(-FARTHEST, logit - highest)))
}

export interface Tracker {
  /** Posterior mean of being right, under a uniform prior. */
  mean(prompt: PromptCoordinates): number
  add(prompt: PromptCoordinates, right: number, wrong: number): void
  save(): Array<[string, number, number]>
  load(rows: unknown): void
}

/** `keep`: what earlier rollouts of a prompt still count for at its next visit. */
export function createTracker(keep: number): Tracker {
  const counts = new Map<string, [number, number]>()
  return {
    mean(prompt) {
      const [right, wrong] = counts.get(promptKey(prompt)) ?? [0, 0]
      return (1 + right) / (2 + right + wrong)
    },
    add(prompt, right, wrong) {
      const key = promptKey(prompt)
      const [oldRight, oldWrong] = counts.get(key) ?? [0, 0]
      counts.delete(key)
      counts.set(key, [keep * oldRight + right, keep * oldWrong + wrong])
      if (counts.size > MOST) counts.delete(counts.keys().next().value!)
    },
    save: () => [...counts].map(([key, row]) => [key, ...row]),
    load(saved) {
      counts.clear()
      if (!Array.isArray(saved)) return
      for (const [key, right, wrong] of saved as Array<[string, number, number]>)
        if (right >= 0 && wrong >= 0) counts.set(key, [right, wrong])
    },
  }
}
