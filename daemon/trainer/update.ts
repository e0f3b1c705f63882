// One batch, from groups to optimizer steps. Knows advantages, columns and minibatches, and no algorithm: advantages
// come from the host's estimator, the loss is the host's objective.

import { columnsOf } from '../../protocol/plugin/expression.ts'
import type { Advantages, Random } from '../../protocol/plugin/index.ts'
import { type Expression, expression } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type { Engine, Objective, TrainReport, TrainRequest, TrainSequence } from '../engine/engine.ts'
import { summarize, type Watched, watched } from './watch.ts'

export interface UpdateOptions {
  temperature: number
  /** Optimizer steps that the batch is cut into. */
  minibatches: number
  optimizer: TrainRequest['optimizer']
  /** This node's peer ID and policy, to tell own tokens from foreign ones and their age. */
  self: string
  lineage: string
  version: number
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
  realTokens: number
  computedTokens: number
  seconds: number
}

interface Row extends TrainSequence {
  columns: Record<string, Float32Array | number>
}

export async function update(
  groups: readonly Group[],
  advantages: Advantages,
  options: UpdateOptions,
  { engine, objective, random }: { engine: Engine; objective: Objective; random: Random },
): Promise<UpdateReport> {
  const rows = groups.map((group, g) =>
    group.rollouts.map((_, r) => rowOf(group, r, advantages[g]![r]!, options)),
  )
  const minibatches = cut(rows, options.minibatches, random)
  let full: Objective = {
    loss: objective.loss,
    metrics: { ...objective.metrics, ...watched() },
  }
  if (minibatches.length === 1) {
    // The policy that begins the batch is the one that takes its only step, so no scoring pass is needed.
    full = mapObjective(full, (e) =>
      substitute(e, 'proximal', expression.detach(expression.column('logprob'))),
    )
  } else if (reads(full, 'proximal')) {
    const all = minibatches.flat()
    const scores = await engine.score({ sequences: all, temperature: options.temperature })
    all.forEach((row, i) => {
      row.columns.proximal = scores[i]!.logprobs
    })
  }
  const wanted = new Set([full.loss, ...Object.values(full.metrics)].flatMap(columnsOf))
  for (const row of minibatches.flat()) {
    for (const column of Object.keys(row.columns)) if (!wanted.has(column)) delete row.columns[column]
  }

  const reports: TrainReport[] = []
  const skipped: string[] = []
  for (const sequences of minibatches) {
    const report = await engine.train({
      sequences,
      objective: full,
      temperature: options.temperature,
      denominator: sequences.reduce((total, { completion }) => total + completion.length, 0),
      optimizer: options.optimizer,
    })
    if (!report.applied) skipped.push(report.nonFinite ?? 'unknown')
    reports.push(report)
  }
  const mean = summarize(reports)
  return {
    steps: reports.length - skipped.length,
    skipped,
    ...mean,
  }
}

function rowOf(
  group: Group,
  index: number,
  advantage: number | Float32Array,
  { self, lineage, version }: UpdateOptions,
): Row {
  const { tokens, behaviourLogprobs, segments } = group.rollouts[index]!
  const foreign = group.author !== self
  const staleness = new Float32Array(tokens.length)
  for (const segment of segments) {
    const age =
      group.policy.lineage === lineage && !foreign ? version - segment.version : version - group.bornVersion
    staleness.fill(Math.max(0, age), segment.start, segment.start + segment.length)
  }
  return {
    conditioning: group.conditioning,
    completion: tokens,
    columns: {
      advantage,
      behaviour: behaviourLogprobs ?? 0,
      known: behaviourLogprobs ? 1 : 0,
      staleness,
      foreign: foreign ? 1 : 0,
    },
  }
}

/** Whole groups in random order, into parts of about equal numbers of groups. */
function cut(rows: Row[][], parts: number, random: Random): Row[][] {
  const order = rows.map((_, i) => i)
  if (parts > 1) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      ;[order[i], order[j]] = [order[j]!, order[i]!]
    }
  }
  const count = Math.min(parts, rows.length)
  return Array.from({ length: count }, (_, part) =>
    order.filter((_, i) => i % count === part).flatMap((group) => rows[group]!),
  )
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
