// Checks the caller's input and turns it into the engine's. Mistakes are reported with the number of the row or prompt,
// before anything is computed.

import { WaggleError } from '../../protocol/errors.ts'
import { COLUMNS, column, detach } from '../../protocol/plugin/expression/expression.ts'
import { didYouMean } from '../../protocol/suggest.ts'
import type { DecoderSpec } from '../engine/decoder.ts'
import type { TrainSequence } from '../engine/engine.ts'
import { sequenceFault } from '../engine/inputs.ts'
import { ADAMW, type OptimizerOptions, PLACES } from '../engine/trainer.ts'
import type { Objective, Row, Sequence, StepOptions } from './contract.ts'
import { columnsIn, type Formulas, replaceColumn } from './objective.ts'

/** Columns that the engine computes in its own forward pass; `mask` may be left out. */
const COMPUTED = new Set<string>(['logprob', 'entropy', 'mask', ...PLACES])
/** Default values of columns. */
const USUAL: Readonly<Record<string, number>> = { staleness: 0, foreign: 0, replayed: 0 }

export function checkSequences(sequences: readonly Sequence[], spec: DecoderSpec): void {
  sequences.forEach(({ prompt, tokens }, i) => {
    const isTokens = prompt instanceof Int32Array && tokens instanceof Int32Array
    const fault = isTokens
      ? sequenceFault({ conditioning: prompt, completion: tokens }, spec)
      : 'prompt and tokens have to be Int32Arrays'
    if (fault !== undefined) throw new WaggleError('E_USAGE', `sequence ${i}: ${fault}`)
  })
}

/** Returns the engine's sequences, and the objective over columns that all of them have. */
export function trainable(
  rows: readonly Row[],
  given: Objective,
  spec: DecoderSpec,
): { sequences: TrainSequence[]; objective: Formulas } {
  checkSequences(rows, spec)
  const { loss, metrics = {}, temperature = 1 } = given
  let objective: Formulas = { loss, metrics, temperature }
  // Before the first step on a batch, the proximal policy is the current one.
  if (!rows.some(({ columns }) => columns?.proximal !== undefined))
    objective = replaceColumn(objective, 'proximal', detach(column('logprob')))
  const wanted = columnsIn(objective).filter((name) => !COMPUTED.has(name))
  const sequences = rows.map((row, i): TrainSequence => {
    const { behaviour, mask } = row.columns ?? {}
    const all: Record<string, Float32Array | number | undefined> = {
      ...USUAL,
      known: behaviour === undefined ? 0 : 1,
      ...(behaviour === undefined && wanted.includes('known') ? { behaviour: 0 } : {}),
      ...row.columns,
    }
    const columns: TrainSequence['columns'] = {}
    if (mask !== undefined) columns.mask = mask
    for (const name of wanted) columns[name] = all[name] ?? missing(i, name, row)
    for (const [name, values] of Object.entries(columns)) checkColumn(i, name, values, row.tokens.length)
    return { conditioning: row.prompt, completion: row.tokens, columns }
  })
  return { sequences, objective }
}

function missing(row: number, name: string, { columns }: Row): never {
  const known = [...COLUMNS, ...Object.keys(columns ?? {})]
  throw new WaggleError('E_USAGE', `row ${row} lacks the column "${name}", which the objective reads`, {
    hint: `Give it in columns: one number, or one for each token.${known.includes(name) ? '' : didYouMean(name, known)}`,
  })
}

function checkColumn(row: number, name: string, values: Float32Array | number, tokens: number): void {
  const fault = (problem: string): never => {
    throw new WaggleError('E_USAGE', `row ${row}: the column "${name}" ${problem}`)
  }
  if (typeof values === 'number') {
    if (!Number.isFinite(values)) fault(`is ${values}`)
  } else if (!(values instanceof Float32Array)) fault('is neither a number nor a Float32Array')
  else if (values.length !== tokens) fault(`has ${values.length} values for ${tokens} tokens`)
  else if (!values.every(Number.isFinite)) fault('has a value that is not finite')
  // The engine counts each token inside the mask as one, whatever its value.
  if (
    name === 'mask' &&
    (typeof values === 'number' ? [values] : values).some((one: number) => one !== 0 && one !== 1)
  )
    fault('has a value other than 0 and 1')
}

/** Number of tokens inside the mask. */
export function tokensIn(sequences: readonly TrainSequence[]): number {
  return sequences.reduce((sum, { completion, columns: { mask } }) => {
    if (mask === undefined) return sum + completion.length
    return sum + (typeof mask === 'number' ? mask * completion.length : mask.reduce((a, b) => a + b, 0))
  }, 0)
}

/** Returns the seed if it is an unsigned 32-bit integer; throws otherwise. */
export function checkSeed(seed: unknown): number {
  if (Number.isInteger(seed) && (seed as number) >= 0 && (seed as number) < 2 ** 32) return seed as number
  throw new WaggleError('E_USAGE', `seed has to be a whole number from 0 to 4294967295, not ${seed}`)
}

/** The optimizer's settings, with a node's defaults for those that are left out. */
export function optimizerOf(given: StepOptions): OptimizerOptions {
  const optimizer: OptimizerOptions = { ...ADAMW, learningRate: given.learningRate }
  for (const name of Object.keys(optimizer) as (keyof OptimizerOptions)[]) {
    const value = given[name] ?? optimizer[name]
    if (!(typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY))
      throw new WaggleError('E_USAGE', `${name} cannot be ${value}`)
    if (name.startsWith('beta') && value >= 1)
      throw new WaggleError('E_USAGE', `${name} has to be below 1, not ${value}`)
    optimizer[name] = value
  }
  return optimizer
}
