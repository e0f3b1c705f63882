// Canaries: rewards that must not fall. One sings all the time, the node's own fresh rollouts; the other now and then,
// the held-out evaluation. Each is compared with the best that it was, and a fall counts only if it is both large (a
// tenth) and far beyond chance.

/** Of the best: a smaller fall is left alone. */
const FALL = 0.1
/** Standard errors. The reward of every round is looked at, hence more for it than for an evaluation. */
const ROUND_ERRORS = 5
const EVALUATION_ERRORS = 4
/** Own groups, zero-signal ones too, whose mean is compared. */
const WINDOW = 64

export interface Canary {
  /** Mean reward of a fresh own group, of whatever signal. Gives a line once it has fallen. */
  ownGroup(reward: number): string | undefined
  evaluation(accuracy: number, prompts: number): string | undefined
}

interface Level {
  mean: number
  /** Squared standard error. */
  error: number
}

export function createCanary(): Canary {
  let recent: number[] = []
  let best: Level | undefined
  let bestEvaluation: Level | undefined

  const hasFallen = (now: Level, before: Level, errors: number): boolean =>
    before.mean - now.mean > FALL * before.mean &&
    before.mean - now.mean > errors * Math.sqrt(now.error + before.error)

  return {
    ownGroup(reward) {
      recent.push(reward)
      if (recent.length < WINDOW) return undefined
      const now = levelOf(recent)
      // Windows lie side by side: overlapping ones would give the best of many tries.
      recent = []
      if (best && hasFallen(now, best, ROUND_ERRORS))
        return `the reward of own rollouts fell from ${best.mean.toFixed(3)} to ${now.mean.toFixed(3)}`
      if (!best || now.mean > best.mean) best = now
      return undefined
    },

    evaluation(accuracy, prompts) {
      const error = Math.max(accuracy * (1 - accuracy), 0.25 / prompts) / prompts
      const now = { mean: accuracy, error }
      if (bestEvaluation && hasFallen(now, bestEvaluation, EVALUATION_ERRORS))
        return `held-out accuracy fell from ${bestEvaluation.mean.toFixed(3)} to ${accuracy.toFixed(3)}`
      if (!bestEvaluation || accuracy > bestEvaluation.mean) bestEvaluation = now
      return undefined
    },
  }
}

function levelOf(values: readonly number[]): Level {
  const mean = values.reduce((a, b) => a + b, 0) / values.length
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - 1)
  return { mean, error: variance / values.length }
}
