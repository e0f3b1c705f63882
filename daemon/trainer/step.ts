// One optimizer step. With foreign groups, or where own gradients are kept to be compared with, every author's gradient is
// computed apart: the own one makes the step that it would make alone, and each foreign one is looked at and scaled to what
// its author may have, before they make a step beside it that is shorter than the own gradient, so that no number of peers can outweigh this
// node's own experience.

import type { Engine, GradientReport, Objective, TrainRequest } from '../engine/engine.ts'
import { type Aggregation, denominatorOf, TOKEN_MEAN } from './aggregation.ts'
import type { Step } from './cut.ts'
import type { Row } from './rows.ts'
import { effectiveSampleSize, type Measured } from './watch.ts'

export interface StepOptions {
  temperature: number
  optimizer: TrainRequest['optimizer']
  /** A mean over tokens if left out. */
  aggregation?: Aggregation
  /** False: foreign gradients are looked at and not learnt from. */
  learnForeign: boolean
  /** Own gradients are kept apart, to be compared with, even where a batch has no foreign groups. */
  compare: boolean
  /** The largest norm of an author's gradient, in units of the own one's. */
  allowance(author: string): number
  /** What an author's gradient is multiplied with, 0 to 1. */
  weight(author: string): number
}

/** What became of one author's part of an optimizer step. */
export interface PartReport extends Measured {
  /** Undefined for this node's own part. */
  author?: string
  groups: number
  gradientNorm: number
  /** What its gradient was multiplied with; 0 if it was left out. */
  scale: number
  /** What it would be multiplied with at its author's full weight, for a foreign step of the own gradient's length. */
  wouldScale: number
  /** Its gradient along the compass, before scaling. */
  along?: number
  /** Its gradient along the foreign steps of earlier updates. */
  aside?: number
  /** Why it was left out. */
  leftOut?: 'not finite' | 'effective sample size'
}

/** Below this share of effective tokens, a peer's part is left out of the step (verl's health check). */
const LEAST_EFFECTIVE = 0.3
/**
 * The foreign step's length at most, in units of the own gradient's. A side of length k with the same signal and noise of its own
 * takes 1 + k of the way with 1 + k^2 of the noise's variance; noise for progress, (1 + k^2) / (1 + k), is least here, by
 * 17 %, and at 1 no less than alone. Off-policy, a side is worse than that.
 */
const FOREIGN_LIMIT = Math.SQRT2 - 1
/** The compass remembers about 1 / (1 - this) updates of own groups. */
const COMPASS_DECAY = 0.95

export interface StepDone {
  nonFinite?: string
  gradientNorm: number
  parts: PartReport[]
}

export function takeStep(
  step: Step,
  objective: Objective,
  options: StepOptions,
  engine: Engine,
): Promise<StepDone> {
  const take = step.foreign.length > 0 || options.compare ? mixedStep : ownStep
  return take(step, objective, options, engine)
}

async function ownStep(
  { own, ownGroups }: Step,
  objective: Objective,
  { temperature, optimizer, aggregation = TOKEN_MEAN }: StepOptions,
  engine: Engine,
): Promise<StepDone> {
  const report = await engine.train({
    sequences: own,
    objective,
    temperature,
    denominator: denominatorOf(aggregation, own),
    optimizer,
  })
  const scale = report.applied ? 1 : 0
  return {
    gradientNorm: report.gradientNorm,
    parts: [{ ...report, groups: ownGroups, scale, wouldScale: scale }],
    ...(report.applied ? {} : { nonFinite: report.nonFinite ?? 'unknown' }),
  }
}

async function mixedStep(
  { own, ownGroups, foreign }: Step,
  objective: Objective,
  { temperature, optimizer, aggregation = TOKEN_MEAN, learnForeign, allowance, weight }: StepOptions,
  engine: Engine,
): Promise<StepDone> {
  // Of own rows alone, whatever peers add: the own gradient is the one that there would be without them.
  const denominator = denominatorOf(aggregation, own)
  const gradientOf = async (sequences: Row[]): Promise<GradientReport> => {
    const report = await engine.gradient({ sequences, objective, temperature, denominator })
    // As a mean over the part's own rows, as other figures are.
    return { ...report, loss: (report.loss * denominator) / denominatorOf(aggregation, sequences) }
  }

  const mine = await gradientOf(own)
  const ownNorm = mine.gradientNorm
  const parts: PartReport[] = [{ ...mine, groups: ownGroups, scale: 1, wouldScale: 1 }]
  if (mine.nonFinite !== undefined) {
    parts[0]!.scale = 0
    return { nonFinite: mine.nonFinite, gradientNorm: ownNorm, parts }
  }
  await engine.keep({ to: 'main', scale: 1 })
  /** Sums of squared norms, of all at full weight and times their weights. */
  let [full, weighted] = [0, 0]
  for (const { author, rows, groups } of foreign) {
    const report = await gradientOf(rows)
    const part: PartReport = { ...report, author, groups, scale: 0, wouldScale: 0 }
    parts.push(part)
    const effective = effectiveSampleSize(report.metrics)
    if (report.nonFinite !== undefined) part.leftOut = 'not finite'
    else if (effective !== undefined && effective < LEAST_EFFECTIVE) part.leftOut = 'effective sample size'
    if (part.leftOut !== undefined) continue
    const limit = allowance(author) * ownNorm
    part.wouldScale = report.gradientNorm > limit ? limit / report.gradientNorm : 1
    const squared = (part.wouldScale * report.gradientNorm) ** 2
    full += squared
    weighted += squared * weight(author)
    if (!learnForeign) continue
    part.scale = part.wouldScale * weight(author)
    await engine.keep({ to: 'side', scale: part.scale })
  }
  const share = full > 0 ? weighted / full : 0
  const done = await engine.descend({
    optimizer,
    sideLimit: FOREIGN_LIMIT * share,
    // What they bring is told as of steps of the own gradient's length, whatever they were held to.
    sideShare: FOREIGN_LIMIT * share,
    compassDecay: COMPASS_DECAY,
  })
  // Parts are taken to be at right angles, as gradients of different prompts about are.
  const together = Math.min(1, ownNorm / Math.max(Math.sqrt(full), 1e-30))
  for (const part of parts.slice(1)) {
    part.wouldScale *= together
    part.scale *= done.sideScale
  }
  return {
    gradientNorm: done.mainNorm,
    parts,
    ...(done.applied ? {} : { nonFinite: done.nonFinite ?? 'unknown' }),
  }
}
