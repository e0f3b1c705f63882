// Input checks shared by all engines, so that each reports the same errors.

import { WaggleError } from '../../protocol/errors.ts'
import { columnsOf } from '../../protocol/plugin/expression/expression.ts'
import { checkTopTokens } from '../../protocol/plugin/top-tokens.ts'
import type { DecoderSpec } from './decoder.ts'
import type { GenerateRequest, Objective, Sampling, TrainSequence } from './engine.ts'
import { arraysOf, type BaseWeights, isStored, lengthOf, type Stored, trainable } from './stored/stored.ts'
import { DIVERGENCE } from './trainer.ts'
import type { Weights } from './weights.ts'

type Sequence = { conditioning: Int32Array; completion: Int32Array }
type Limits = Pick<DecoderSpec, 'contextLength' | 'vocabulary'>

export function checkSequences(sequences: readonly Sequence[], spec: DecoderSpec): void {
  for (const sequence of sequences) refuse(sequenceFault(sequence, spec))
}

/** What is wrong with a sequence; undefined if an engine can score it and train on it. */
export function sequenceFault({ conditioning, completion }: Sequence, spec: Limits): string | undefined {
  if (conditioning.length === 0 || completion.length === 0)
    return 'a sequence has an empty conditioning or completion'
  const length = conditioning.length + completion.length
  if (length > spec.contextLength)
    return `a sequence of ${length} tokens exceeds the context of ${spec.contextLength}`
  return tokenFault(conditioning, spec) ?? tokenFault(completion, spec)
}

function tokenFault(tokens: Int32Array, { vocabulary }: Limits): string | undefined {
  const wrong = tokens.find((token) => token < 0 || token >= vocabulary)
  return wrong === undefined ? undefined : `token id ${wrong} is outside the vocabulary of ${vocabulary}`
}

function refuse(fault: string | undefined): void {
  if (fault !== undefined) throw new WaggleError('E_ENGINE', fault)
}

function checkSampling({ temperature, topK, topP, minP }: Sampling): void {
  const wrong = (name: string, value: number): never => {
    throw new WaggleError('E_ENGINE', `${name} cannot be ${value}`)
  }
  if (!(temperature >= 0 && temperature < Number.POSITIVE_INFINITY)) wrong('temperature', temperature)
  if (topK !== undefined && !(Number.isInteger(topK) && topK >= 1)) wrong('topK', topK)
  if (topP !== undefined && !(topP > 0 && topP <= 1)) wrong('topP', topP)
  if (minP !== undefined && !(minP >= 0 && minP <= 1)) wrong('minP', minP)
}

/** Checks a request. Returns the length, prompt included, of the longest sequence that may come out of it. */
export function checkPrompts(request: GenerateRequest, spec: DecoderSpec): number {
  const { samples } = request
  checkSampling(request)
  let longest = 0
  for (const { prompt, maxNewTokens } of samples) {
    if (prompt.length === 0) throw new WaggleError('E_ENGINE', 'a prompt is empty')
    refuse(tokenFault(prompt, spec))
    if (maxNewTokens !== undefined && !(Number.isInteger(maxNewTokens) && maxNewTokens >= 1))
      throw new WaggleError('E_ENGINE', `maxNewTokens of a sequence cannot be ${maxNewTokens}`)
    const fresh = Math.min(maxNewTokens ?? Number.POSITIVE_INFINITY, request.maxNewTokens)
    if (prompt.length + fresh > spec.contextLength) {
      throw new WaggleError(
        'E_ENGINE',
        `a prompt of ${prompt.length} tokens and ${fresh} new ones exceed the context of ${spec.contextLength}`,
        { hint: 'Lower model.max_completion_tokens or use shorter prompts.' },
      )
    }
    longest = Math.max(longest, prompt.length + fresh)
  }
  return longest
}

/** Columns that an objective's loss or metrics read. */
export function columnsRead({ loss, metrics }: Objective): Set<string> {
  return new Set([loss, ...Object.values(metrics)].flatMap(columnsOf))
}

/**
 * The number of tokens at a place that the batch's teachers name, the same for all. Undefined if the objective does not
 * read the divergence from them. Throws E_ENGINE if a teacher's tokens cannot be used.
 */
export function taughtIn(
  { sequences, objective }: { sequences: readonly TrainSequence[]; objective: Objective },
  { vocabulary }: Pick<DecoderSpec, 'vocabulary'>,
): number | undefined {
  if (!columnsRead(objective).has(DIVERGENCE)) return undefined
  const counts = new Set<number>()
  for (const { teacher, completion } of sequences) {
    if (!teacher) continue
    checkTopTokens(teacher, { places: completion.length, vocabulary })
    counts.add(teacher.count)
  }
  const [count = 1, ...others] = counts
  if (others.length > 0)
    refuse(
      `the teachers of a batch name ${[...counts].join(' and ')} tokens at a place; it must be one number`,
    )
  return count
}

/** A sequence's values of a column; undefined for a missing mask, which means all ones. */
export function columnOf(
  { completion, columns }: TrainSequence,
  column: string,
): Float32Array | number | undefined {
  const values = columns[column]
  if (values === undefined && column !== 'mask')
    throw new WaggleError('E_ENGINE', `a sequence lacks the column "${column}"`)
  if (typeof values === 'object' && values.length !== completion.length)
    throw new WaggleError(
      'E_ENGINE',
      `column "${column}" has ${values.length} values for ${completion.length} tokens`,
    )
  return values
}

/** Throws E_MODEL unless every tensor is present and has the size that the model needs. */
export function checkTensors(
  weights: BaseWeights,
  shapes: ReadonlyMap<string, readonly number[]>,
  what: string,
): void {
  for (const [name, shape] of shapes) {
    const values = weights[name]
    const size = shape.reduce((a, b) => a * b, 1)
    if (!values) throw new WaggleError('E_MODEL', `the ${what} lack the tensor "${name}"`)
    const length = lengthOf(values)
    if (length !== size) {
      throw new WaggleError(
        'E_MODEL',
        `tensor "${name}" of the ${what} has ${length} elements, [${shape.join(', ')}] needs ${size}`,
      )
    }
    if (isStored(values) && !fits(values, shape))
      throw new WaggleError('E_MODEL', `tensor "${name}" of the ${what} is not a matrix of whole blocks`)
  }
}

function fits(values: Stored, shape: readonly number[]): boolean {
  if (shape.length !== 2 || values.kind === 'halves') return shape.length === 2
  const { bits, block, numbers, scales, minimums = scales } = values
  return (
    shape[1]! % block === 0 &&
    numbers.length === (scales.length * block * bits) / 8 &&
    minimums.length === scales.length
  )
}

/** The tensors of these shapes, checked. Throws E_MODEL if one is quantized, since it cannot be trained. */
export function trainedIn(weights: BaseWeights, shapes: ReadonlyMap<string, number[]>): Weights {
  checkTensors(weights, shapes, 'weights')
  return trainable(Object.fromEntries([...shapes.keys()].map((name) => [name, weights[name]!])))
}

/** The tensors of these shapes, which training does not change. Engines use those in shared memory in place. */
export function holdFrozen(weights: BaseWeights, shapes: ReadonlyMap<string, number[]>): BaseWeights {
  return Object.fromEntries([...shapes.keys()].map((name) => [name, held(weights[name]!)]))
}

function held(values: Float32Array | Stored): Float32Array | Stored {
  if (arraysOf(values).every(({ buffer }) => buffer instanceof SharedArrayBuffer)) return values
  return isStored(values) ? structuredClone(values) : values.slice()
}
