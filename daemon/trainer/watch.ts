// Training metrics that are computed for every batch, whatever the algorithm: expressions and their means.
//
// d = log pi_proximal - log pi_behaviour, on the tokens with known behaviour log-probs.

import { type Expression, expression } from '../../protocol/plugin/index.ts'
import type { Rollout } from '../../protocol/train/index.ts'
import type { Score, TrainReport } from '../engine/engine.ts'
import { EDGES, type Evidence } from './sharing/typicality.ts'

/** The fields of a train report that are summarized here. */
export type Measured = Pick<
  TrainReport,
  'loss' | 'metrics' | 'completionTokens' | 'realTokens' | 'computedTokens' | 'seconds'
>

export interface Watched {
  /**
   * Nats per token, over own rollouts only: on foreign texts it would depend on those texts. Absent without own
   * rollouts.
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

const { add, column, greater, less, mul, not, ratio, sub, where } = expression

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

/** The column of random numbers that `placed` reads: uniform on (0, 1), one per token. */
export const UNIFORM = 'uniform'

/** A token counts as unsure if the policy's entropy there is above this many nats. */
const UNSURE = 0.2
export const isUnsure = (entropy: number): boolean => entropy > UNSURE
const KINDS = ['unsure', 'sure'] as const

/**
 * Metrics that count tokens by their place in this policy's distribution, unsure tokens separately; see
 * sharing/typicality.ts. Replayed rollouts are left out, because they may exceed the staleness limit of the others.
 */
export function placed(): Record<string, Expression> {
  const pitValue = add(column('above'), mul(column('ties'), column(UNIFORM)))
  const unsure = greater(column('entropy'), UNSURE)
  const ofKind = { unsure, sure: not(unsure) }
  return Object.fromEntries(
    KINDS.flatMap((kind) =>
      EDGES.map((edge) => [
        `watch.${kind} ${edge}`,
        where(column('replayed'), 0, edge < 1 ? mul(ofKind[kind], less(pitValue, edge)) : ofKind[kind]),
      ]),
    ),
  )
}

/** Number of tokens in each bin of places, unsure tokens first; undefined if places were not measured. */
export function countsOf({
  metrics,
  completionTokens,
}: Pick<Measured, 'metrics' | 'completionTokens'>): number[] | undefined {
  const shares = KINDS.map((kind) => EDGES.map((edge) => metrics[`watch.${kind} ${edge}`]))
  if (shares.flat().includes(undefined)) return undefined
  return (shares as number[][]).flatMap((upTo) =>
    upTo.map((share, i) => Math.max(0, Math.round((share - (upTo[i - 1] ?? 0)) * completionTokens))),
  )
}

/** Evidence about an author from its tokens in a batch; undefined if their places were not measured. */
export function evidenceOf(part: Pick<Measured, 'metrics' | 'completionTokens'>): Evidence | undefined {
  const counts = countsOf(part)
  return counts && { counts, weight: weightOfReported(part.metrics) }
}

/** Evidence about an author from rollouts that are only scored. `uniform` gives numbers in (0, 1). */
export function evidenceIn(
  rollouts: readonly Pick<Rollout, 'behaviourLogprobs'>[],
  scores: readonly Score[],
  uniform: () => number,
): Evidence {
  const counts = KINDS.flatMap(() => EDGES.map(() => 0))
  let [weight, known] = [0, 0]
  for (const [r, { logprobs, entropies, pit }] of scores.entries()) {
    const reported = rollouts[r]!.behaviourLogprobs
    for (const [t, logprob] of logprobs.entries()) {
      const pitValue = pit!.above[t]! + uniform() * pit!.ties[t]!
      const kind = isUnsure(entropies[t]!) ? 'unsure' : 'sure'
      const edge = EDGES.findIndex((end) => pitValue < end)
      counts[KINDS.indexOf(kind) * EDGES.length + (edge < 0 ? EDGES.length - 1 : edge)]! += 1
      const gap = logprob - (reported?.[t] ?? Number.NaN)
      if (!Number.isFinite(gap)) continue
      weight += Math.exp(Math.min(MAX_LOG_RATIO, gap))
      known += 1
    }
  }
  return { counts, weight: known > 0 ? weight / known : undefined }
}

/** Larger log importance weights are clipped, so that one token cannot make the mean infinite. */
const MAX_LOG_RATIO = 20

/** Mean importance weight of the tokens with known behaviour log-probs; undefined if there are none. */
function weightOfReported(metrics: Readonly<Record<string, number>>): number | undefined {
  const known = metrics['watch.known'] ?? 0
  return known > 0 ? metrics['watch.weight']! / known : undefined
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
