// What every engine checks of its input, and says in the same words whichever engine it is.

import { WaggleError } from '../../protocol/errors.ts'
import type { DecoderSpec, Weights } from './decoder.ts'
import type { GenerateRequest, Sampling, TrainSequence } from './engine.ts'

export function checkSequences(
  sequences: readonly { conditioning: Int32Array; completion: Int32Array }[],
  spec: DecoderSpec,
): void {
  for (const { conditioning, completion } of sequences) {
    if (conditioning.length === 0 || completion.length === 0) {
      throw new WaggleError('E_ENGINE', 'a sequence has an empty conditioning or completion')
    }
    const length = conditioning.length + completion.length
    if (length > spec.contextLength) {
      throw new WaggleError(
        'E_ENGINE',
        `a sequence of ${length} tokens exceeds the context of ${spec.contextLength}`,
      )
    }
    checkTokens(conditioning, spec)
    checkTokens(completion, spec)
  }
}

function checkTokens(tokens: Int32Array, { vocabulary }: DecoderSpec): void {
  for (const token of tokens) {
    if (token < 0 || token >= vocabulary)
      throw new WaggleError('E_ENGINE', `token id ${token} is outside the vocabulary of ${vocabulary}`)
  }
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

/** Gives the most tokens that a sequence may come to, prompt included. */
export function checkPrompts(request: GenerateRequest, spec: DecoderSpec): number {
  const { samples } = request
  checkSampling(request)
  let longest = 0
  for (const { prompt, maxNewTokens } of samples) {
    if (prompt.length === 0) throw new WaggleError('E_ENGINE', 'a prompt is empty')
    checkTokens(prompt, spec)
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

/** A sequence's values of a column; undefined for a mask that was not given, which is all ones. */
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

/** Every tensor is there, and of the size that the model needs. */
export function checkTensors(
  weights: Weights,
  shapes: ReadonlyMap<string, readonly number[]>,
  what: string,
): void {
  for (const [name, shape] of shapes) {
    const values = weights[name]
    const size = shape.reduce((a, b) => a * b, 1)
    if (!values) throw new WaggleError('E_MODEL', `the ${what} lack the tensor "${name}"`)
    if (values.length !== size) {
      throw new WaggleError(
        'E_MODEL',
        `tensor "${name}" of the ${what} has ${values.length} elements, [${shape.join(', ')}] needs ${size}`,
      )
    }
  }
}

/** Copies of exactly the tensors that a model has. */
export function copyChecked(weights: Weights, shapes: ReadonlyMap<string, number[]>, what: string): Weights {
  checkTensors(weights, shapes, what)
  return Object.fromEntries([...shapes.keys()].map((name) => [name, weights[name]!.slice()]))
}

/** Tensors that nobody writes to. What lies in shared memory is used where it is, by as many engines as there are. */
export function holdFrozen(weights: Weights, shapes: ReadonlyMap<string, number[]>): Weights {
  checkTensors(weights, shapes, 'weights')
  return Object.fromEntries(
    [...shapes.keys()].map((name) => {
      const values = weights[name]!
      return [name, values.buffer instanceof SharedArrayBuffer ? values : values.slice()]
    }),
  )
}
