// Canaries: two rewards that must not fall, the mean reward of new own rollouts and the held-out accuracy. Each is
// compared with its best level so far. A fall counts only if it is both large (a tenth) and far beyond chance.

/** Smallest fall that counts, as a share of the best level. */
const FALL = 0.1
/** In standard errors. The reward is tested far more often than the accuracy, so its threshold is higher. */
const ROUND_ERRORS = 5
const EVALUATION_ERRORS = 4
/** Own groups per comparison, including those without a signal. */
const WINDOW = 64

interface Canary {
  /** Takes the mean reward of a new own group. Returns a message if the reward has fallen. */
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
      // Windows do not overlap: the best of many overlapping ones would be biased upwards.
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
