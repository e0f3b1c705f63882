// Makes one step of own and foreign groups together: one gradient, one AdamW.
//
//   g = (n_0 h_0 + Σ s_k n_k h_k) / (n_0 + Σ s_k n_k)
//
// h_k is the mean gradient over author k's rows, n_k the number of terms in that mean, and s_k in [0, 1] the author's
// standing, less where its gradient is longer than one from as many own terms would be. An author whose gradient is
// cut also counts less in the denominator, so that it takes nothing from the others.
//
// The norm of all newcomers' gradients together is at most NEWCOMERS times that of the own gradient. Noise of that norm
// takes 8 % off a step, however many identities send it.
//
// Peers of the same quality reduce the noise of g as own groups would. AdamW divides each element by the root of its
// second moment, so less noise means a longer step along the signal at the same learning rate.

import type { Metric, OptimizerOptions, VectorName } from '../../../engine/engine.ts'
import { GRADIENT } from '../../../engine/trainer.ts'
import type { MeanOwnPart, MixingTrainer, Part, PartReport } from './part.ts'
import { compared, FOREIGN_MEAN, moveMean, OWN_MEAN } from './running-means.ts'

export interface MixingOptions {
  optimizer: OptimizerOptions
  /** False if foreign gradients are only measured. */
  learnForeign: boolean
  /**
   * Weight of an author's groups, 0 to 1; undefined for a newcomer. Given the report of the author's gradient in this
   * batch, it also takes that gradient's tokens into account, before they have had any effect.
   */
  earnedWeight(author: string, report?: PartReport): number | undefined
  /** Undefined before the first update with own groups. */
  meanOwn?: MeanOwnPart | undefined
}

export interface StepDone {
  /** Name of what was not finite; the weights are then unchanged. Absent if all gradients were finite. */
  nonFinite?: string
  /** 2-norm of the optimizer's gradient before clipping. */
  gradientNorm: number
  parts: PartReport[]
}

/** Margin on the norm of an author's gradient. */
const MARGIN = 1.5
const NEWCOMERS = Math.SQRT2 - 1

const OWN = GRADIENT
const PART: VectorName = 'part'
/** The weighted sum of foreign gradients. */
const SIDE: VectorName = 'side'

interface Mix {
  options: MixingOptions
  trainer: MixingTrainer
  held: ReadonlySet<VectorName>
  metric: Metric
  /** Own terms and norm to compare peers with: the usual ones, or those of this batch before there are usual ones. */
  meanOwn: MeanOwnPart
  /** Of all parts so far. */
  parts: PartReport[]
  side: {
    isFilled: boolean
    /** Terms in it, in units of the usual own count. */
    counted: number
    /** Sums of its squared norms, at full weight and at the authors' weights. */
    full: number
    weighted: number
  }
}

/** Makes one step. Without own groups it needs `options.usual`. */
export async function commonBatch(
  { own, foreign }: { own: Part | undefined; foreign: readonly Part[] },
  options: MixingOptions,
  trainer: MixingTrainer,
): Promise<StepDone> {
  const { optimizer, earnedWeight } = options
  const held = new Set(await trainer.vectors())
  const metric = { beta2: optimizer.beta2, epsilon: optimizer.epsilon }
  const mine = await own?.gradient(OWN)
  const parts = mine ? [mine] : []
  if (mine?.nonFinite !== undefined)
    return { nonFinite: mine.nonFinite, gradientNorm: mine.gradientNorm, parts }
  if (mine) Object.assign(mine, { scale: 1, wouldScale: 1 }, await compared(OWN, { held, metric }, trainer))
  const meanOwn = options.meanOwn ?? mine
  if (!meanOwn) throw new RangeError('the first step needs own groups: there is nothing to measure peers by')

  const side = { isFilled: false, counted: 0, full: 0, weighted: 0 }
  const mix: Mix = { options, trainer, held, metric, meanOwn, parts, side }
  // Newcomers come first, so that their sum can be cut before the others are added to it.
  const isNew = ({ author = '' }: Part): boolean => earnedWeight(author) === undefined
  for (const part of foreign.filter(isNew)) await add(part, mix)
  if (side.isFilled) await cutNewcomers(mix)
  for (const part of foreign.filter((one) => !isNew(one))) await add(part, mix)

  const ownTerms = own ? own.count / meanOwn.count : 0
  // At least one own batch's terms, so that a cut still takes effect if there is nothing else.
  const all = Math.max(1, ownTerms + side.counted)
  if (own) await moveMean(OWN_MEAN, { by: OWN, held }, trainer)
  if (!own && !side.isFilled) return { gradientNorm: 0, parts, nonFinite: 'every gradient' }
  if (side.isFilled)
    await trainer.combine({
      into: OWN,
      terms: [{ vector: SIDE, factor: 1 / all }, ...(own ? [{ vector: OWN, factor: ownTerms / all }] : [])],
    })
  const { applied, nonFinite, norm } = await trainer.step({ along: OWN, optimizer })
  const share = side.full > 0 ? side.weighted / side.full : 0
  if (applied && side.isFilled && share > 0)
    await moveMean(FOREIGN_MEAN, { by: SIDE, factor: 1 / share, held }, trainer)
  return { gradientNorm: norm, parts, ...(applied ? {} : { nonFinite: nonFinite ?? 'unknown' }) }
}

/** Computes an author's gradient and adds it to the side. */
async function add(part: Part, { options, trainer, held, metric, meanOwn, parts, side }: Mix): Promise<void> {
  const report = await part.gradient(PART)
  parts.push(report)
  if (report.nonFinite === undefined) Object.assign(report, await compared(PART, { held, metric }, trainer))
  if (report.leftOut !== undefined) return
  report.wouldScale = (scaleOf(report, meanOwn) * part.count) / meanOwn.count
  const squared = (report.wouldScale * report.gradientNorm) ** 2
  const trust = options.earnedWeight(part.author ?? '', report) ?? 1
  side.full += squared
  side.weighted += squared * trust
  if (!options.learnForeign) return
  report.scale = report.wouldScale * trust
  side.counted += report.scale
  const before = side.isFilled ? [{ vector: SIDE, factor: 1 }] : []
  await trainer.combine({ into: SIDE, terms: [...before, { vector: PART, factor: report.scale }] })
  side.isFilled = true
}

/** At most 1. An author's gradient may be as long as one from the same number of own terms, with a margin. */
function scaleOf(part: PartReport, own: MeanOwnPart): number {
  const share = part.count / own.count
  // The norm of a sum grows with the square root of its number of terms if they are pure noise, and with the number of
  // terms if they are pure signal.
  const limit = (MARGIN * own.gradientNorm * Math.max(share, Math.sqrt(share))) / share
  return part.gradientNorm > limit ? limit / part.gradientNorm : 1
}

/** Bounds the side while it holds newcomers' gradients only. */
async function cutNewcomers({ trainer, meanOwn, parts, side }: Mix): Promise<void> {
  const length = await trainer.norm({ vector: SIDE })
  const cut = length > 0 ? Math.min(1, (NEWCOMERS * meanOwn.gradientNorm) / length) : 1
  if (cut < 1) await trainer.combine({ into: SIDE, terms: [{ vector: SIDE, factor: cut }] })
  for (const part of parts) {
    if (part.author === undefined || part.leftOut !== undefined) continue
    part.scale *= cut
    part.wouldScale *= cut
  }
  side.counted *= cut
}
