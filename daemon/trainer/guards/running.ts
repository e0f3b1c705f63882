// Exponentially weighted running mean and standard deviation (Welford's update with a constant weight).

export interface Running {
  readonly count: number
  readonly mean: number
  readonly deviation: number
  add(value: number): void
}

export function createRunning(fade: number): Running {
  let [count, mean, variance] = [0, 0, 0]
  return {
    get count() {
      return count
    },
    get mean() {
      return mean
    },
    get deviation() {
      return Math.sqrt(variance)
    },
    add(value) {
      // A plain mean at first, so that the first value does not dominate for long.
      const weight = Math.max(1 - fade, 1 / (count + 1))
      const difference = value - mean
      mean += weight * difference
      variance = (1 - weight) * (variance + weight * difference * difference)
      count += 1
    },
  }
}
