// One batch, from groups to optimizer steps. Knows advantages, columns, minibatches and whose gradient is whose, and no
// algorithm: advantages come from the host's estimator, the loss is the host's objective.

import { columnsOf } from '../../protocol/plugin/expression.ts'
import type { Advantages, Random } from '../../protocol/plugin/index.ts'
import { type Expression, expression } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type { Engine, Objective, Score, ScoreRequest } from '../engine/engine.ts'
import { rowWeight, TOKEN_MEAN } from './aggregation.ts'
import { cut } from './cut.ts'
import { type RowOptions, rowsByAuthor } from './rows.ts'
import { type PartReport, type StepOptions, takeStep } from './step.ts'
import { summarize, type Watched, watched } from './watch.ts'

export interface UpdateOptions extends RowOptions, StepOptions {
  /** Optimizer steps that the batch is cut into. */
  minibatches: number
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

export interface UpdateParts {
  engine: Engine
  objective: Objective
  random: Random
  /** Scores with the policy that training began with, for an objective that reads it. */
  reference?(request: ScoreRequest): Promise<Score[]>
}

/** The column in which a row's weight in the sum over tokens comes. */
const ROW_WEIGHT = 'row_weight'

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
  const weights = rows.map((row) => rowWeight(options.aggregation ?? TOKEN_MEAN, row))
  const isWeighted = weights.some((weight) => weight !== undefined)
  rows.forEach((row, i) => {
    if (isWeighted) row.columns[ROW_WEIGHT] = weights[i]!
  })
  let full: Objective = {
    loss: isWeighted ? expression.mul(objective.loss, expression.column(ROW_WEIGHT)) : objective.loss,
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
    const done = await takeStep(step, full, options, engine)
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
