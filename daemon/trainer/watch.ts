// What a trainer must watch, whatever the algorithm: as expressions that ride along with every batch, and their means.
//
// Definitions: estimators.md section 7. d = log pi_proximal - log pi_behaviour on the tokens whose sampler is known.

import { type Expression, expression } from '../../protocol/plugin/index.ts'
import type { TrainReport } from '../engine/engine.ts'

export interface Watched {
  /** Nats per token. */
  entropy: number
  /** k3 estimate of KL(behaviour || proximal), nats per token: exp(d) - 1 - d. */
  mismatchKl: number
  /** Kish's effective sample size of the token weights exp(d), as a share of the tokens: (sum w)^2 / (n sum w^2). */
  effectiveSampleSize: number
  /** Share of tokens whose sampler is known, and that peers wrote. */
  knownShare: number
  foreignShare: number
  /** Versions between sampling and training, the mean over tokens. */
  staleness: number
}

const { column, ratio, sub, mul, where } = expression

export function watched(): Record<string, Expression> {
  const known = column('known')
  const gap = where(known, sub(column('proximal'), column('behaviour')), 0)
  const weight = mul(known, ratio(gap, 0))
  return {
    'watch.entropy': column('entropy'),
    'watch.known': known,
    'watch.weight': weight,
    'watch.weightSquared': mul(weight, weight),
    'watch.k3': mul(known, sub(sub(ratio(gap, 0), 1), gap)),
    'watch.foreign': column('foreign'),
    'watch.staleness': column('staleness'),
  }
}

export interface Summary {
  loss: number
  gradientNorm: number
  watched: Watched
  metrics: Record<string, number>
  realTokens: number
  computedTokens: number
  seconds: number
}

/** Token-weighted means over a batch's optimizer steps; the gradient norm is the largest. */
export function summarize(reports: readonly TrainReport[]): Summary {
  const total = reports.reduce((sum, { completionTokens }) => sum + completionTokens, 0)
  const mean = (read: (report: TrainReport) => number): number =>
    reports.reduce((sum, report) => sum + read(report) * report.completionTokens, 0) / Math.max(1, total)
  const add = (read: (report: TrainReport) => number): number =>
    reports.reduce((sum, report) => sum + read(report), 0)
  const all: Record<string, number> = {}
  for (const name of Object.keys(reports[0]?.metrics ?? {}))
    all[name] = mean(({ metrics }) => metrics[name] ?? 0)
  const of = (name: string): number => all[`watch.${name}`] ?? 0
  const known = of('known')
  return {
    loss: mean(({ loss }) => loss),
    gradientNorm: Math.max(0, ...reports.map(({ gradientNorm }) => gradientNorm)),
    watched: {
      entropy: of('entropy'),
      mismatchKl: known > 0 ? of('k3') / known : 0,
      effectiveSampleSize: known > 0 ? of('weight') ** 2 / (of('weightSquared') * known) : 0,
      knownShare: known,
      foreignShare: of('foreign'),
      staleness: of('staleness'),
    },
    metrics: Object.fromEntries(Object.entries(all).filter(([name]) => !name.startsWith('watch.'))),
    realTokens: add(({ realTokens }) => realTokens),
    computedTokens: add(({ computedTokens }) => computedTokens),
    seconds: add(({ seconds }) => seconds),
  }
}
