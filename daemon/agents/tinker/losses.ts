// From Tinker's batches to rows and an objective: docs of Tinker, "Loss functions". All losses are sums over positions.

import {
  column,
  detach,
  type Expression,
  evaluate,
  exp,
  max,
  min,
  mul,
  neg,
  sub,
} from '../../../protocol/plugin/expression/expression.ts'
import type { Objective, Row } from '../../library/contract.ts'
import { invalid } from '../errors.ts'
import type { Batch, Datum, Losses } from './messages.ts'

/**
 * Bounds of the importance ratio unless the batch has its own (PPO, Schulman et al. 2017). Tinker's own for cispo are not in
 * its client, so they are assumed to be the same.
 */
const CLIP = { clip_low_threshold: 0.8, clip_high_threshold: 1.2 }

const logprob = column('logprob')
const ratio = exp(sub(logprob, column('old')))
const clipped = min(max(ratio, column('clip_low_threshold')), column('clip_high_threshold'))
const advantage = column('advantage')

interface Loss {
  loss: Expression
  /** Column by input, and the value where the batch may leave it out. A position where the first is 0 adds nothing. */
  inputs: Readonly<Record<string, { column: string; otherwise?: number }>>
  settings?: Readonly<Record<string, number>>
}

const SAMPLED = { advantages: { column: 'advantage' }, logprobs: { column: 'old' } }

const LOSSES: Readonly<Record<string, Loss>> = {
  cross_entropy: {
    loss: neg(mul(column('weight'), logprob)),
    inputs: { weights: { column: 'weight', otherwise: 1 } },
  },
  importance_sampling: { loss: neg(mul(ratio, advantage)), inputs: SAMPLED },
  ppo: {
    loss: neg(min(mul(ratio, advantage), mul(clipped, advantage))),
    inputs: SAMPLED,
    settings: CLIP,
  },
  /** The ratio is a weight without gradient (MiniMax 2025). */
  cispo: { loss: neg(mul(mul(detach(clipped), advantage), logprob)), inputs: SAMPLED, settings: CLIP },
}

export interface Learning {
  rows: Row[]
  objective: Objective
  /** Of each datum: its number of positions, and the first of them that its row scores. */
  places: { positions: number; first: number }[]
}

/** Throws HttpError for what cannot be learnt from. */
export function learningOf({ data, loss: name, config }: Batch): Learning {
  const loss = Object.hasOwn(LOSSES, name) ? LOSSES[name]! : undefined
  if (!loss)
    throw invalid(
      `the loss "${name.slice(0, 64)}" is not supported`,
      `Losses: ${Object.keys(LOSSES).join(', ')}.`,
    )
  if (data.length === 0) throw invalid('the batch is empty')
  const settings = settingsOf(name, loss, config)
  const read = data.map((datum, i) => rowOf(datum, `datum ${i}`, loss, settings))
  return {
    rows: read.map(({ row }) => row),
    places: read.map(({ place }) => place),
    objective: { loss: loss.loss, reduction: 'sum' },
  }
}

function settingsOf(name: string, { settings = {} }: Loss, config: Batch['config']): Record<string, number> {
  const read = { ...settings }
  for (const [key, value] of Object.entries(config)) {
    if (!Object.hasOwn(settings, key)) throw invalid(`the loss ${name} has no setting "${key.slice(0, 64)}"`)
    if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`${key} has to be a number`)
    read[key] = value
  }
  return read
}

function rowOf(
  { tokens, inputs }: Datum,
  where: string,
  loss: Loss,
  settings: Record<string, number>,
): { row: Row; place: Learning['places'][number] } {
  const positions = tokens.length
  if (positions === 0) throw invalid(`${where} has no tokens`)
  const wanted = ['target_tokens', ...Object.keys(loss.inputs), ...Object.keys(settings)]
  for (const [name, { length }] of Object.entries(inputs))
    if (wanted.includes(name) && length !== positions)
      throw invalid(`"${name}" of ${where} has ${length} values for ${positions} tokens`)
  const values: Record<string, Float64Array> = {}
  for (const [name, { column: into, otherwise }] of Object.entries(loss.inputs)) {
    const given =
      inputs[name] ?? (otherwise === undefined ? undefined : new Float64Array(positions).fill(otherwise))
    if (!given) throw invalid(`${where} lacks "${name}", which the loss reads`)
    values[into] = given
  }
  for (const [name, value] of Object.entries(settings))
    values[name] = inputs[name] ?? new Float64Array(positions).fill(value)
  const targets = inputs.target_tokens
  if (!targets) throw invalid(`${where} lacks "target_tokens"`)
  const counts = Object.values(values)[0]!
  const first = firstScored(tokens, targets, counts, where)
  const columns = Object.fromEntries(
    Object.entries(values).map(([name, all]) => [name, Float32Array.from(all.subarray(first))]),
  )
  const row = {
    prompt: tokens.slice(0, first + 1),
    tokens: Int32Array.from([...tokens.subarray(first + 1), targets[positions - 1]!]),
    columns,
  }
  return { row, place: { positions, first } }
}

/**
 * The first position whose target is the next token of the input, from where a row is scored. Where a later target is
 * another token it has to count for nothing, as in a prompt that was padded; only the last position is free.
 */
function firstScored(tokens: Int32Array, targets: Float64Array, counts: Float64Array, where: string): number {
  const last = tokens.length - 1
  let first = last
  for (let i = last - 1; i >= 0; i--) {
    if (targets[i] === tokens[i + 1]) first = i
    else if (counts[i] !== 0)
      throw invalid(
        `target ${i} of ${where} is not the next token of its input`,
        'Such a target can only count 0.',
      )
  }
  return first
}

/**
 * The summed loss, and the log-prob of each target, 0 where it was not the next token of the input. `scored` are those of
 * the rows' tokens.
 */
export function lossesOf(
  { rows, objective, places }: Learning,
  data: readonly Datum[],
  scored: readonly Float32Array[],
): Losses {
  let sum = 0
  const logprobs = data.map(({ tokens, inputs }, i) => {
    const { positions, first } = places[i]!
    const columns = rows[i]!.columns as Record<string, Float32Array>
    sum += evaluate(objective.loss, { ...columns, logprob: scored[i]! }).reduce((a, b) => a + b, 0)
    const all = new Float32Array(positions)
    for (let at = first; at < positions; at++)
      if (at === positions - 1 || inputs.target_tokens![at] === tokens[at + 1])
        all[at] = scored[i]![at - first]!
    return all
  })
  return { logprobs, metrics: { 'loss:sum': sum } }
}
