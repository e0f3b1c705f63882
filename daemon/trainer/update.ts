// One batch, from groups to optimizer steps. Knows advantages, columns, minibatches and whose gradient is whose, and no
// algorithm: advantages come from the host's estimator, the loss is the host's objective.
//
// A batch of own groups alone is one call of the engine. With foreign groups the own gradient and each peer's are
// computed apart: each is looked at and scaled to what its author may have. The own one then makes the step that it would
// make alone, and the sum of the foreign ones a step beside it that is no longer, so that no number of peers can outweigh
// this node's own experience.

import { columnsOf } from '../../protocol/plugin/expression.ts'
import type { Advantages, Random } from '../../protocol/plugin/index.ts'
import { type Expression, expression } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type {
  Engine,
  GradientReport,
  Objective,
  Score,
  ScoreRequest,
  TrainRequest,
} from '../engine/engine.ts'
import { type AuthorRows, type Row, type RowOptions, rowsByAuthor } from './rows.ts'
import { effectiveSampleSize, type Measured, summarize, type Watched, watched } from './watch.ts'

export interface UpdateOptions extends RowOptions {
  temperature: number
  /** Optimizer steps that the batch is cut into. */
  minibatches: number
  optimizer: TrainRequest['optimizer']
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
  /** What it would have been multiplied with had its author the full weight and had it been learnt from. */
  wouldScale: number
  /** Its gradient along the compass, before scaling. */
  along?: number
  /** Why it was left out. */
  leftOut?: 'not finite' | 'effective sample size'
}

export interface UpdateReport {
  /** Optimizer steps that were taken; fewer than asked for where one was not finite. */
  steps: number
  skipped: string[]
  loss: number
  gradientNorm: number
  watched: Watched
  /** What the plugins' corrections asked to be logged. */
  metrics: Record<string, number>
  parts: PartReport[]
  realTokens: number
  computedTokens: number
  seconds: number
}

/** Below this share of effective tokens, a peer's part is left out of the step (verl's health check). */
const LEAST_EFFECTIVE = 0.3
/** The foreign step's length, in units of the own gradient's. */
const FOREIGN_LIMIT = 1
/** The compass remembers about 1 / (1 - this) updates of own groups. */
const COMPASS_DECAY = 0.95

export interface UpdateParts {
  engine: Engine
  objective: Objective
  random: Random
  /** Scores with the policy that training began with, for an objective that reads it. */
  reference?(request: ScoreRequest): Promise<Score[]>
}

interface Step {
  own: Row[]
  ownGroups: number
  foreign: { author: string; rows: Row[]; groups: number }[]
}

export async function update(
  groups: readonly Group[],
  advantages: Advantages,
  options: UpdateOptions,
  { engine, objective, random, reference }: UpdateParts,
): Promise<UpdateReport> {
  const all = rowsByAuthor(groups, advantages, options)
  // Nothing is learnt from peers alone: there would be nothing to bound it by.
  const steps = all.own.length > 0 ? cut(all, options.minibatches, random) : []
  const rows = steps.flatMap(({ own, foreign }) => [...own, ...foreign.flatMap((part) => part.rows)])
  let full: Objective = {
    loss: objective.loss,
    metrics: { ...objective.metrics, ...watched() },
  }
  if (steps.length === 1) {
    // The policy that begins the batch is the one that takes its only step, so no scoring pass is needed.
    full = mapObjective(full, (e) =>
      substitute(e, 'proximal', expression.detach(expression.column('logprob'))),
    )
  } else if (reads(full, 'proximal')) {
    const scores = await engine.score({ sequences: rows, temperature: options.temperature })
    rows.forEach((row, i) => {
      row.columns.proximal = scores[i]!.logprobs
    })
  }
  if (reads(full, 'reference')) {
    if (!reference) throw new Error('the objective reads a reference policy, and there is none here')
    const scores = await reference({ sequences: rows, temperature: options.temperature })
    rows.forEach((row, i) => {
      row.columns.reference = scores[i]!.logprobs
    })
  }
  const wanted = new Set(['mask', ...[full.loss, ...Object.values(full.metrics)].flatMap(columnsOf)])
  for (const row of rows) {
    for (const column of Object.keys(row.columns)) if (!wanted.has(column)) delete row.columns[column]
  }

  const parts: PartReport[] = []
  const skipped: string[] = []
  const norms: number[] = []
  for (const step of steps) {
    const done =
      step.foreign.length > 0 || options.compare
        ? await mixedStep(step, full, options, engine)
        : await ownStep(step, full, options, engine)
    if (done.nonFinite !== undefined) skipped.push(done.nonFinite)
    norms.push(done.gradientNorm)
    parts.push(...done.parts)
  }
  return {
    steps: steps.length - skipped.length,
    skipped,
    gradientNorm: Math.max(0, ...norms.filter(Number.isFinite)),
    ...summarize(parts),
    parts,
  }
}

interface StepDone {
  nonFinite?: string
  gradientNorm: number
  parts: PartReport[]
}

async function ownStep(
  { own, ownGroups }: Step,
  objective: Objective,
  { temperature, optimizer }: UpdateOptions,
  engine: Engine,
): Promise<StepDone> {
  const report = await engine.train({
    sequences: own,
    objective,
    temperature,
    denominator: tokensOf(own),
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
  { temperature, optimizer, learnForeign, allowance, weight }: UpdateOptions,
  engine: Engine,
): Promise<StepDone> {
  // Of own tokens alone, whatever peers add: the own gradient is the one that there would be without them.
  const denominator = tokensOf(own)
  const gradientOf = async (sequences: Row[]): Promise<GradientReport> => {
    const report = await engine.gradient({ sequences, objective, temperature, denominator })
    // As a mean over the part's own tokens, as other figures are.
    return { ...report, loss: (report.loss * denominator) / tokensOf(sequences) }
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
  const done = await engine.descend({
    optimizer,
    sideLimit: FOREIGN_LIMIT * (full > 0 ? weighted / full : 0),
    compassDecay: COMPASS_DECAY,
  })
  // Parts are taken to be at right angles, as gradients of different prompts about are.
  const together = Math.min(1, (FOREIGN_LIMIT * ownNorm) / Math.max(Math.sqrt(full), 1e-30))
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

function tokensOf(rows: readonly Row[]): number {
  return Math.max(
    1,
    rows.reduce(
      (total, { completion, columns: { mask } }) => total + (mask ? countOf(mask) : completion.length),
      0,
    ),
  )
}

function countOf(mask: Float32Array | number): number {
  return typeof mask === 'number' ? mask : mask.reduce((sum, kept) => sum + kept, 0)
}

/** Whole groups in random order, into steps of about equal numbers of groups, each with own groups in it. */
function cut(
  { own, foreign }: { own: Row[][]; foreign: AuthorRows[] },
  minibatches: number,
  random: Random,
): Step[] {
  const count = Math.max(1, Math.min(minibatches, own.length))
  const mine = shuffled(own, count, random)
  const theirs = shuffled(
    foreign.flatMap(({ author, groups }) => groups.map((rows) => ({ author, rows }))),
    count,
    random,
  )
  return Array.from({ length: count }, (_, part) => {
    const chosen = mine.filter((_, i) => i % count === part)
    const byAuthor = new Map<string, { author: string; rows: Row[]; groups: number }>()
    theirs.forEach(({ author, rows }, i) => {
      if (i % count !== part) return
      const so = byAuthor.get(author) ?? { author, rows: [], groups: 0 }
      byAuthor.set(author, { author, rows: [...so.rows, ...rows], groups: so.groups + 1 })
    })
    return { own: chosen.flat(), ownGroups: chosen.length, foreign: [...byAuthor.values()] }
  })
}

function shuffled<T>(items: readonly T[], parts: number, random: Random): T[] {
  const order = [...items]
  if (parts > 1) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      ;[order[i], order[j]] = [order[j]!, order[i]!]
    }
  }
  return order
}

function reads({ loss, metrics }: Objective, column: string): boolean {
  return [loss, ...Object.values(metrics)].some((e) => columnsOf(e).includes(column))
}

function mapObjective({ loss, metrics }: Objective, map: (e: Expression) => Expression): Objective {
  return {
    loss: map(loss),
    metrics: Object.fromEntries(Object.entries(metrics).map(([name, e]) => [name, map(e)])),
  }
}

/** The expression with a column replaced by another expression. */
export function substitute(e: Expression, column: string, replacement: Expression): Expression {
  if (typeof e === 'number') return e
  if ('column' in e) return e.column === column ? replacement : e
  const of = Array.isArray(e.of)
    ? e.of.map((part) => substitute(part, column, replacement))
    : substitute(e.of as Expression, column, replacement)
  return { ...e, of } as Expression
}
