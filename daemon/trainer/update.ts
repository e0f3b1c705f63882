// Turns one batch of groups into optimizer steps: builds rows and columns, cuts minibatches, and takes each
// step. It knows no algorithm: the plugin host gives the advantages and the objective.

import { NO_PHASES, type Phases } from '../../protocol/api/index.ts'
import { columnsOf, substitute } from '../../protocol/plugin/expression/expression.ts'
import type { Advantages, Random } from '../../protocol/plugin/index.ts'
import { type Expression, expression } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type {
  Objective,
  Score,
  ScoreRequest,
  Trainer,
  TrainSequence,
  WithProgress,
} from '../engine/engine.ts'
import { rowWeight, TOKEN_MEAN } from './aggregation.ts'
import { cut } from './cut.ts'
import { type RowOptions, rowsByAuthor } from './rows.ts'
import type { PartReport } from './sharing/mixing/part.ts'
import { type StepOptions, takeStep } from './step.ts'
import { placed, summarize, UNIFORM, type Watched, watched } from './watch.ts'

export interface UpdateOptions extends RowOptions, StepOptions {
  /** Optimizer steps per batch. */
  minibatches: number
}

/** The groups whose gradients are in the new weights. Groups that were left out or only measured do not count. */
export interface TrainedOn {
  own: number
  /** By author. */
  foreign: Record<string, number>
}

export interface UpdateReport {
  /** Optimizer steps taken; fewer than `minibatches` if a gradient was not finite. */
  steps: number
  skipped: string[]
  loss: number
  gradientNorm: number
  watched: Watched
  /** Metrics of the corrections, as means over tokens. */
  metrics: Record<string, number>
  parts: PartReport[]
  trainedOn: TrainedOn
  realTokens: number
  computedTokens: number
  seconds: number
}

interface UpdateParts {
  engine: Trainer
  objective: Objective
  random: Random
  phases?: Pick<Phases, 'run'> | undefined
  /** Scores under the reference policy, which is the initial policy. Needed if the objective reads `reference`. */
  reference?(request: ScoreRequest): Promise<Score[]>
}

/** Name of the column that holds a row's weight in the sum over tokens. */
const ROW_WEIGHT = 'row_weight'

export async function update(
  groups: readonly Group[],
  advantages: Advantages,
  options: UpdateOptions,
  { engine, objective, random, reference, phases = NO_PHASES }: UpdateParts,
): Promise<UpdateReport> {
  const all = rowsByAuthor(groups, advantages, options)
  const isEmpty = all.own.length === 0 && all.foreign.length === 0
  const steps = isEmpty ? [] : cut(all, options.minibatches, random)
  const rows = steps.flatMap(({ own, foreign }) => [...own, ...foreign.flatMap((part) => part.rows)])
  const total = tokensOf(rows)
  const scored = (score: UpdateParts['reference'] & {}): Promise<Score[]> =>
    phases.run('score', { unit: 'tokens', total }, (at) =>
      score({
        sequences: rows,
        temperature: options.temperature,
        onProgress: (share) => at(share * total),
      }),
    )
  const weights = rows.map((row) => rowWeight(options.aggregation ?? TOKEN_MEAN, row))
  const isWeighted = weights.some((weight) => weight !== undefined)
  // Peers are judged by the places of their tokens in this policy's distribution; own tokens give the baseline.
  const isJudged = all.foreign.length > 0 || options.compare
  rows.forEach((row, i) => {
    if (isWeighted) row.columns[ROW_WEIGHT] = weights[i]!
    if (isJudged) row.columns[UNIFORM] = Float32Array.from(row.completion, random)
  })
  let full: Objective = {
    loss: isWeighted ? expression.mul(objective.loss, expression.column(ROW_WEIGHT)) : objective.loss,
    metrics: { ...objective.metrics, ...watched(), ...(isJudged ? placed() : {}) },
  }
  if (steps.length === 1) {
    // With a single step, the proximal policy is the current one, so no scoring pass is needed.
    full = mapObjective(full, (e) =>
      substitute(e, 'proximal', expression.detach(expression.column('logprob'))),
    )
  } else if (reads(full, 'proximal')) {
    const scores = await scored((request) => engine.score(request))
    rows.forEach((row, i) => {
      row.columns.proximal = scores[i]!.logprobs
    })
  }
  if (reads(full, 'reference')) {
    if (!reference)
      throw new Error('the objective reads the column "reference", but this node has no reference policy')
    const scores = await scored(reference)
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
  const trainedOn: TrainedOn = { own: 0, foreign: {} }
  await phases.run('train', { unit: 'tokens', total }, async (at) => {
    const counting = countingTokens(engine, at)
    for (const step of steps) {
      const done = await takeStep(step, full, options, counting)
      norms.push(done.gradientNorm)
      if (done.nonFinite !== undefined) skipped.push(done.nonFinite)
      else count(done.parts, trainedOn)
      parts.push(...done.parts)
    }
  })
  return {
    steps: steps.length - skipped.length,
    skipped,
    gradientNorm: Math.max(0, ...norms.filter(Number.isFinite)),
    ...summarize(parts),
    parts,
    trainedOn,
  }
}

function count(parts: readonly PartReport[], into: TrainedOn): void {
  for (const { author, groups, scale } of parts) {
    if (!(scale > 0)) continue
    if (author === undefined) into.own += groups
    else into.foreign[author] = (into.foreign[author] ?? 0) + groups
  }
}

type Tokens = Pick<TrainSequence, 'conditioning' | 'completion'>

function tokensOf(sequences: readonly Tokens[]): number {
  return sequences.reduce(
    (sum, { conditioning, completion }) => sum + conditioning.length + completion.length,
    0,
  )
}

/** The same trainer. Reports the tokens whose gradients it has computed. */
function countingTokens(engine: Trainer, at: (tokens: number) => void): Trainer {
  let before = 0
  const counted = async <Request extends { sequences: readonly TrainSequence[] }, Report>(
    request: Request,
    compute: (request: Request & WithProgress) => Promise<Report>,
  ): Promise<Report> => {
    const [start, size] = [before, tokensOf(request.sequences)]
    const report = await compute({ ...request, onProgress: (share) => at(start + share * size) })
    before += size
    at(before)
    return report
  }
  return {
    ...engine,
    train: (request) => counted(request, engine.train),
    gradient: (request) => counted(request, engine.gradient),
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
