// Estimates the current difficulty of prompts, and weights them for selection: DOTS (arXiv 2506.05316), with a
// Beta tracker as its predictor.
//
// P(q) is proportional to exp(-|d - alpha| / tau), where d is the share of right answers. The paper predicts
// d from a trained embedding of the question and from reference prompts that are rolled out for this purpose. Here
// d is the posterior mean over the prompt's own past rollouts, with older ones counting less. That costs no rollouts,
// but says nothing about new prompts, which get 0.5. The paper's calibration of d is a setting:
// sigmoid(logit(d) / scale + tanh(shift)), the identity by default.

import { type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'

const LOWEST = 1e-4
/** A weight below exp(-700) would underflow when multiplied with others. */
const FARTHEST = 700
const MAX = 65_536

export function calibrated(base: number, { scale, shift }: { scale: number; shift: number }): number {
  const inside = Math.min(1 - LOWEST, Math.max(LOWEST, base))
  const logit = Math.log(inside / (1 - inside)) / Math.min(10, Math.max(0.01, scale)) + Math.tanh(shift)
  return 1 / (1 + Math.exp(-logit))
}

/** exp(logit - highest). Only relative weights matter, so subtracting the highest changes nothing. */
export function weightsOf(logits: readonly number[]): number[] {
  const highest = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  return logits.map((logit) => Math.exp(Math.max(-FARTHEST, logit - highest)))
}

export interface Tracker {
  /** Posterior mean of the probability of being right, under a uniform prior. */
  mean(prompt: PromptCoordinates): number
  add(prompt: PromptCoordinates, right: number, wrong: number): void
  save(): Array<[string, number, number]>
  load(rows: unknown): void
}

/** `keep`: decay factor on the counts of a prompt's earlier rollouts at each visit. */
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
      if (counts.size > MAX) counts.delete(counts.keys().next().value!)
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
