// One optimizer step. A step of own groups only is one call of the trainer. With foreign groups, or if own gradients
// are needed for comparison, each author's gradient is computed separately and the common batch combines them into one
// update.

import type { GradientReport, Objective, Trainer, VectorName } from '../engine/engine.ts'
import { type Aggregation, denominatorOf, TOKEN_MEAN } from './aggregation.ts'
import type { Minibatch } from './cut.ts'
import type { Row } from './rows.ts'
import { commonBatch, type MixingOptions, type StepDone } from './sharing/mixing/common-batch.ts'
import type { Part, PartReport } from './sharing/mixing/part.ts'
import { effectiveSampleSize } from './watch.ts'

export interface StepOptions extends MixingOptions {
  temperature: number
  /** Default: mean over tokens. */
  aggregation?: Aggregation
  /** Measures own gradients against their running mean even if a batch has no foreign groups. */
  compare: boolean
}

/** A peer's part is left out below this effective sample size, as a share of its tokens (verl's health check). */
const MIN_EFFECTIVE = 0.3

/** Maximum norm of the gradient of borrowed rollouts, relative to that of own rollouts. */
const MAX_BORROWED = 1
/** Free while the own gradient is computed; afterwards it takes one foreign part after another. */
const BORROWED: VectorName = 'part'

export function takeStep(
  step: Minibatch,
  objective: Objective,
  options: StepOptions,
  trainer: Trainer,
): Promise<StepDone> {
  const isMixed = step.foreign.length > 0 || options.compare || step.own.some(isBorrowed)
  const take = isMixed ? mixedStep : ownStep
  return take(step, objective, options, trainer)
}

async function ownStep(
  { own, ownGroups }: Minibatch,
  objective: Objective,
  { temperature, optimizer, aggregation = TOKEN_MEAN }: StepOptions,
  trainer: Trainer,
): Promise<StepDone> {
  const count = denominatorOf(aggregation, own)
  const report = await trainer.train({
    sequences: own,
    objective,
    temperature,
    denominator: count,
    optimizer,
  })
  const scale = report.applied ? 1 : 0
  return {
    gradientNorm: report.gradientNorm,
    parts: [{ ...report, groups: ownGroups, count, scale, wouldScale: scale }],
    ...(report.applied ? {} : { nonFinite: report.nonFinite ?? 'unknown' }),
  }
}

async function mixedStep(
  { own, ownGroups, foreign }: Minibatch,
  objective: Objective,
  { temperature, aggregation = TOKEN_MEAN, ...options }: StepOptions,
  trainer: Trainer,
): Promise<StepDone> {
  const partOf = (rows: Row[], groups: number, author?: string): Part => {
    const count = denominatorOf(aggregation, rows)
    const by = author === undefined ? {} : { author }
    return {
      ...by,
      count,
      async gradient(into) {
        const gradientOf = (some: Row[], into: VectorName): Promise<GradientReport> =>
          trainer.gradient({ sequences: some, objective, temperature, denominator: count, into: into })
        const report = rows.some(isBorrowed)
          ? await withBorrowed(rows, into, { gradientOf, trainer })
          : await gradientOf(rows, into)
        const leftOut = author === undefined ? undefined : reasonToLeaveOut(report)
        return {
          ...report,
          ...by,
          ...(leftOut === undefined ? {} : { leftOut }),
          ...{ groups, count, scale: 0, wouldScale: 0 },
        }
      },
    }
  }
  return commonBatch(
    {
      own: own.length > 0 ? partOf(own, ownGroups) : undefined,
      foreign: foreign.map(({ author, rows, groups }) => partOf(rows, groups, author)),
    },
    options,
    trainer,
  )
}

/**
 * The gradient of own rows, plus that of borrowed rollouts in own groups, whose norm is at most MAX_BORROWED times as
 * large. The report describes the own rows, as guards need it; only its compute includes both.
 */
async function withBorrowed(
  rows: readonly Row[],
  into: VectorName,
  {
    gradientOf,
    trainer,
  }: {
    gradientOf(rows: Row[], into: VectorName): Promise<GradientReport>
    trainer: Pick<Trainer, 'combine' | 'norm'>
  },
): Promise<GradientReport> {
  const own = await gradientOf(
    rows.filter((row) => !isBorrowed(row)),
    into,
  )
  if (own.nonFinite !== undefined) return own
  const lent = await gradientOf(rows.filter(isBorrowed), BORROWED)
  const report = {
    ...own,
    realTokens: own.realTokens + lent.realTokens,
    computedTokens: own.computedTokens + lent.computedTokens,
    seconds: own.seconds + lent.seconds,
  }
  if (lent.nonFinite !== undefined || !(lent.gradientNorm > 0)) return report
  const factor = Math.min(1, (MAX_BORROWED * own.gradientNorm) / lent.gradientNorm)
  await trainer.combine({
    into,
    terms: [
      { vector: into, factor: 1 },
      { vector: BORROWED, factor },
    ],
  })
  return { ...report, gradientNorm: await trainer.norm({ vector: into }) }
}

function isBorrowed({ borrowed }: Row): boolean {
  return borrowed !== undefined
}

function reasonToLeaveOut({ nonFinite, metrics }: GradientReport): PartReport['leftOut'] {
  if (nonFinite !== undefined) return 'not finite'
  const effective = effectiveSampleSize(metrics)
  return effective !== undefined && effective < MIN_EFFECTIVE ? 'effective sample size' : undefined
}
