// What a trainer must watch, whatever the algorithm: as expressions that ride along with every batch, and their means.
//
// d = log pi_proximal - log pi_behaviour on the tokens whose sampler is known.

import { type Expression, expression } from '../../protocol/plugin/index.ts'
import type { TrainReport } from '../engine/engine.ts'

/** Of a report, what is summed up here. */
export type Measured = Pick<
  TrainReport,
  'loss' | 'metrics' | 'completionTokens' | 'realTokens' | 'computedTokens' | 'seconds'
>

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
    'watch.behaviour': mul(known, column('behaviour')),
    'watch.k3': mul(known, sub(sub(ratio(gap, 0), 1), gap)),
    'watch.foreign': column('foreign'),
    'watch.staleness': column('staleness'),
  }
}

/** Means over the tokens whose sampler is known, from a report's metrics; undefined where there are none. */
export function reportedOf(
  metrics: Readonly<Record<string, number>>,
): { weight: number; behaviour: number; entropy: number } | undefined {
  const known = metrics['watch.known'] ?? 0
  if (!(known > 0)) return undefined
  return {
    weight: metrics['watch.weight']! / known,
    behaviour: metrics['watch.behaviour']! / known,
    entropy: metrics['watch.entropy'] ?? 0,
  }
}

/** Kish's, as a share of the tokens whose sampler is known; undefined where there are none. */
export function effectiveSampleSize(metrics: Readonly<Record<string, number>>): number | undefined {
  const known = metrics['watch.known'] ?? 0
  return known > 0 ? metrics['watch.weight']! ** 2 / (metrics['watch.weightSquared']! * known) : undefined
}

export interface Summary {
  loss: number
  watched: Watched
  metrics: Record<string, number>
  realTokens: number
  computedTokens: number
  seconds: number
}

/** Token-weighted means over all parts of a batch's optimizer steps. */
export function summarize(reports: readonly Measured[]): Summary {
  const total = reports.reduce((sum, { completionTokens }) => sum + completionTokens, 0)
  const mean = (read: (report: Measured) => number): number =>
    reports.reduce((sum, report) => sum + read(report) * report.completionTokens, 0) / Math.max(1, total)
  const add = (read: (report: Measured) => number): number =>
    reports.reduce((sum, report) => sum + read(report), 0)
  const all: Record<string, number> = {}
  for (const name of Object.keys(reports[0]?.metrics ?? {}))
    all[name] = mean(({ metrics }) => metrics[name] ?? 0)
  const of = (name: string): number => all[`watch.${name}`] ?? 0
  const known = of('known')
  return {
    loss: mean(({ loss }) => loss),
    watched: {
      entropy: of('entropy'),
      mismatchKl: known > 0 ? of('k3') / known : 0,
      effectiveSampleSize: effectiveSampleSize(all) ?? 0,
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
