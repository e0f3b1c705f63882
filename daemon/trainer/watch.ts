// Training metrics that are computed for every batch, whatever the algorithm: expressions and their means.
//
// d = log pi_proximal - log pi_behaviour, on the tokens with known behaviour log-probs.

import { type Expression, expression } from '../../protocol/plugin/index.ts'
import type { TrainReport } from '../engine/engine.ts'

/** The fields of a train report that are summarized here. */
export type Measured = Pick<
  TrainReport,
  'loss' | 'metrics' | 'completionTokens' | 'realTokens' | 'computedTokens' | 'seconds'
>

export interface Watched {
  /**
   * Nats per token, over own rollouts only: on foreign texts it would depend on the texts. Absent if a step had
   * none.
   */
  entropy?: number
  /** k3 estimate of KL(behaviour || proximal), nats per token: exp(d) - 1 - d. */
  mismatchKl: number
  /**
   * Kish's effective sample size of the token weights exp(d), as a share of the tokens: (sum w)^2 / (n sum
   * w^2).
   */
  effectiveSampleSize: number
  /** Share of tokens with known behaviour log-probs. */
  knownShare: number
  /** Share of tokens that peers wrote. */
  foreignShare: number
  /** Policy versions between sampling and training, mean over tokens. */
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

/** Means over the tokens with known behaviour log-probs; undefined if there are none. */
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

/**
 * Kish's effective sample size as a share of the tokens with known behaviour log-probs; undefined if there
 * are none.
 */
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

/** Token-weighted means over all parts of a batch. Parts without an author are this node's own. */
export function summarize(reports: readonly (Measured & { author?: string })[]): Summary {
  const mean = (read: (report: Measured) => number, of: readonly Measured[] = reports): number => {
    const total = of.reduce((sum, { completionTokens }) => sum + completionTokens, 0)
    return of.reduce((sum, report) => sum + read(report) * report.completionTokens, 0) / Math.max(1, total)
  }
  const own = reports.filter(({ author }) => author === undefined)
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
      ...(own.length > 0 && { entropy: mean(({ metrics }) => metrics['watch.entropy'] ?? 0, own) }),
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
