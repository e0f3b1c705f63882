// Totals since the process started: tokens, and distributions as Prometheus' histograms have them.

import type { Distribution, TrainingInfo } from '../../../protocol/api/index.ts'

const VERSIONS = [0, 1, 2, 4, 8, 16, 32, 64]
const TOKENS = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

export interface Totals {
  /** Lengths of the completions of an own group, in tokens. */
  group(lengths: readonly number[]): void
  round(tokens: number): void
  /** Ages in versions of the groups of a step, its tokens, and how long it trained. */
  step(step: { ages: readonly number[]; realTokens: number; seconds: number }): void
  read(): Pick<TrainingInfo, 'tokens' | 'distributions'>
}

export function createTotals(): Totals {
  const tokens = { sampled: 0, trained: 0 }
  const distributions = {
    staleness: createDistribution(VERSIONS),
    completionTokens: createDistribution(TOKENS),
    stepSeconds: createDistribution(SECONDS),
  }
  return {
    group: (lengths) => distributions.completionTokens.add(lengths),
    round(more) {
      tokens.sampled += more
    },
    step({ ages, realTokens, seconds }) {
      tokens.trained += realTokens
      distributions.staleness.add(ages)
      distributions.stepSeconds.add([seconds])
    },
    read: () => ({
      tokens: { ...tokens },
      distributions: Object.fromEntries(
        Object.entries(distributions).flatMap(([name, { read }]) => {
          const found = read()
          return found ? [[name, found]] : []
        }),
      ),
    }),
  }
}

/** How many values lie at or below each of some rising bounds. */
export function createDistribution(bounds: readonly number[]): {
  add(values: readonly number[]): void
  /** Undefined as long as there is no value. */
  read(): Distribution | undefined
} {
  const counts = [...bounds, Number.POSITIVE_INFINITY].map(() => 0)
  let [sum, count] = [0, 0]
  return {
    add(values) {
      for (const value of values) {
        if (!Number.isFinite(value)) continue
        const at = bounds.findIndex((bound) => value <= bound)
        counts[at < 0 ? bounds.length : at]! += 1
        sum += value
        count += 1
      }
    },
    read: () => (count === 0 ? undefined : { bounds: [...bounds], counts: [...counts], sum }),
  }
}
