// The TensorFlow.js engine, in the thread that creates it: weights and optimizer state as tensors, and the calls of the
// contract. All other tensors are freed before a call returns.

import { WaggleError } from '../../../protocol/errors.ts'
import { type Core, generateBy } from '../core.ts'
import { type DecoderSpec, frozenShapes, trainableShapes } from '../decoder.ts'
import type { GradientReport, GradientRequest, OptimizerOptions, Score } from '../engine.ts'
import { checkSequences, checkTensors, copyChecked, trainedIn } from '../inputs.ts'
import { createNamedVectors, type NamedVectors, vectorCalls } from '../named-vectors.ts'
import { createWriter, type Labels } from '../sampling/writer.ts'
import { asFloats, isStored, type Stored } from '../stored/stored.ts'
import type { Weights } from '../weights.ts'
import type { Tensor, Tensorflow } from './backend.ts'
import { cut } from './batch.ts'
import type { Model } from './decoder.ts'
import { generate } from './generate.ts'
import { adamW, clipScale, squaresOf } from './optimizer.ts'
import { scoreStatistics } from './statistics.ts'
import { gradientsOf } from './training.ts'
import { tensorVectors, type Vector } from './vectors.ts'

export interface CoreOptions {
  tf: Tensorflow
  /** Most tokens computed at once, padding included. */
  microBatchTokens?: number | undefined
  /** Monotonic milliseconds, for the reports. */
  now: () => number
}

type Tensors = Record<string, Tensor>

/** A copy, because some backends keep the array that they are given. */
function floatsOf(values: Float32Array | Stored): Float32Array {
  return isStored(values) ? asFloats(values) : values.slice()
}

interface State {
  spec: DecoderSpec
  /** Shapes of the trained parameters. */
  shapes: Map<string, number[]>
  frozen: Tensors
  weights: Tensors
  first: Tensors
  second: Tensors
  vectors: NamedVectors<Vector>
  steps: number
  labels: Labels
}

export function createCore({ tf, microBatchTokens = 1024, now }: CoreOptions): Core {
  let state: State | undefined

  const opened = (): State => {
    if (!state) throw new WaggleError('E_ENGINE', 'the engine holds no model yet')
    return state
  }
  const modelOf = ({ spec, frozen, weights }: State): Model => ({
    tf,
    spec,
    parameters: { ...frozen, ...weights },
    trained: weights,
  })
  const upload = (shapes: ReadonlyMap<string, number[]>, values: (name: string) => Float32Array): Tensors =>
    Object.fromEntries([...shapes].map(([name, shape]) => [name, tf.tensor(values(name), shape)]))
  const zeros = (shapes: ReadonlyMap<string, number[]>): Tensors =>
    Object.fromEntries([...shapes].map(([name, shape]) => [name, tf.zeros(shape as never) as Tensor]))
  // A copy, because some backends return the tensor's own memory.
  const download = (tensors: Tensors): Weights =>
    Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => [name, new Float32Array(tensor.dataSync())]),
    )
  const release = (): void => {
    for (const { tensors } of state?.vectors.clear() ?? []) tf.dispose(tensors)
    if (state) tf.dispose([state.frozen, state.weights, state.first, state.second] as never)
    state = undefined
  }

  const computeGradient = (
    current: State,
    request: Omit<GradientRequest, 'into'>,
    into: Vector,
  ): GradientReport => {
    const { sequences, objective, denominator } = request
    const started = now()
    checkSequences(sequences, current.spec)
    if (sequences.length === 0) throw new WaggleError('E_ENGINE', 'a training batch has no sequences')
    const found = gradientsOf(modelOf(current), request, microBatchTokens)
    const { gradients, totals, completionTokens, batches } = found
    tf.dispose(into.tensors)
    into.tensors = gradients
    const squares = squaresOf(tf, gradients)
    const broken = squares.findIndex((value) => !Number.isFinite(value))
    const nonFinite = Number.isFinite(totals[0]!) ? [...current.shapes.keys()][broken] : 'loss'
    const metrics = Object.keys(objective.metrics).map((name, i) => [
      name,
      totals[i + 1]! / Math.max(1, completionTokens),
    ])
    return {
      ...(nonFinite === undefined ? {} : { nonFinite }),
      loss: totals[0]! / denominator,
      gradientNorm: Math.sqrt(squares.reduce((total, value) => total + value, 0)),
      metrics: Object.fromEntries(metrics),
      completionTokens,
      realTokens: batches.reduce((total, batch) => total + batch.realTokens, 0),
      computedTokens: batches.reduce((total, batch) => total + batch.tokens.length, 0),
      microBatches: batches.length,
      seconds: (now() - started) / 1000,
    }
  }
  const applyStep = (
    current: State,
    gradients: readonly Tensor[],
    norm: number,
    optimizer: OptimizerOptions,
  ): void => {
    current.steps += 1
    const scale = clipScale(norm, optimizer.maxGradientNorm)
    ;[...current.shapes.keys()].forEach((name, i) => {
      const { weights, first, second } = current
      const old = { weight: weights[name]!, first: first[name]!, second: second[name]! }
      const made = adamW(tf, old, gradients[i]!, scale, current.steps, optimizer)
      weights[name] = made.weight
      first[name] = made.first
      second[name] = made.second
      tf.dispose(old as never)
    })
  }

  /** Serves calls one after another, because this engine's cache has no slots that other calls could join. */
  const decode: Core['decode'] = async ({ newCalls, takeWeights }) => {
    const current = opened()
    const { spec, labels } = current
    for (let calls = [...newCalls()]; calls.length > 0; calls.push(...newCalls())) {
      const { request, steering, answer, refuse } = calls.shift()!
      try {
        const { onToken } = steering
        const write = createWriter(request, { vocabulary: spec.vocabulary, labels, onToken })
        const by = { steering, write, takeWeights }
        answer(await generate(request, () => modelOf(current), by))
      } catch (error) {
        refuse(error)
      }
    }
  }

  return {
    async open({ spec, weights, optimizer, ...labels }) {
      const shapes = trainableShapes(spec)
      const fixed = frozenShapes(spec)
      checkTensors(weights, fixed, 'weights')
      const copies = copyChecked(trainedIn(weights, shapes), shapes, 'weights')
      const first = optimizer && copyChecked(optimizer.first, shapes, 'first moments')
      const second = optimizer && copyChecked(optimizer.second, shapes, 'second moments')
      release()
      const made: State = {
        spec,
        shapes,
        frozen: upload(fixed, (name) => floatsOf(weights[name]!)),
        weights: upload(shapes, (name) => copies[name]!),
        first: first ? upload(shapes, (name) => first[name]!) : zeros(shapes),
        second: second ? upload(shapes, (name) => second[name]!) : zeros(shapes),
        vectors: createNamedVectors(
          tensorVectors(tf, () => made),
          { steps: () => made.steps },
        ),
        steps: optimizer?.steps ?? 0,
        labels: { version: 0, ...labels },
      }
      state = made
    },

    decode,
    generate: generateBy(decode),

    async score({ sequences, temperature, hidden = false, pit = false, top: wanted }) {
      const model = modelOf(opened())
      const top = wanted && Math.min(wanted, model.spec.vocabulary)
      checkSequences(sequences, model.spec)
      const scores: Score[] = new Array(sequences.length)
      for (const batch of cut(sequences, microBatchTokens)) {
        tf.tidy(() => {
          const found = scoreStatistics(model, batch, temperature, { pit, ...(top && { top }) })
          const read = ({ logprob, entropy, collision, above, ties }: typeof found) =>
            [logprob, entropy, collision, above, ties].map((values) => values?.dataSync() as Float32Array)
          const [logprobs, entropies, collisions, above, ties] = read(found)
          const likeliest = found.top && {
            ids: found.top.indices.dataSync(),
            logprobs: found.top.values.dataSync(),
          }
          const states = hidden ? (found.hidden.dataSync() as Float32Array) : undefined
          const { width } = model.spec
          batch.members.forEach((member, row) => {
            const start = row * batch.width
            const end = start + sequences[member]!.completion.length
            const of = (values: Float32Array, size = 1): Float32Array =>
              new Float32Array(values.subarray(start * size, end * size))
            scores[member] = {
              logprobs: of(logprobs!),
              entropies: of(entropies!),
              collisions: of(collisions!),
              ...(states && { hidden: of(states, width) }),
              ...(likeliest &&
                top && {
                  top: {
                    count: top,
                    tokens: Int32Array.from(likeliest.ids.subarray(start * top, end * top)),
                    logprobs: new Float32Array(likeliest.logprobs.subarray(start * top, end * top)),
                  },
                }),
              ...(pit && { pit: { above: of(above!), ties: of(ties!) } }),
            }
          })
        })
      }
      return scores
    },

    async train(request) {
      const started = now()
      const current = opened()
      const vector: Vector = { tensors: [] }
      const report = computeGradient(current, request, vector)
      const applied = report.nonFinite === undefined
      if (applied) applyStep(current, vector.tensors, report.gradientNorm, request.optimizer)
      tf.dispose(vector.tensors)
      return { applied, ...report, seconds: (now() - started) / 1000 }
    },

    async gradient({ into, ...request }) {
      const current = opened()
      return computeGradient(current, request, current.vectors.toOverwrite(into))
    },

    async step({ along, optimizer }) {
      const started = now()
      const current = opened()
      const { tensors } = current.vectors.held(along)
      const squares = squaresOf(tf, tensors)
      const norm = Math.sqrt(squares.reduce((total, value) => total + value, 0))
      const applied = Number.isFinite(norm)
      if (applied) applyStep(current, tensors, norm, optimizer)
      const broken = [...current.shapes.keys()][squares.findIndex((value) => !Number.isFinite(value))]
      const nonFinite = applied ? {} : { nonFinite: broken ?? 'the norm of all gradients' }
      return { applied, norm, seconds: (now() - started) / 1000, ...nonFinite }
    },

    ...vectorCalls(() => opened().vectors),

    weights: () => download(opened().weights),

    setWeights(weights, version) {
      const current = opened()
      const copies = copyChecked(weights, current.shapes, 'weights')
      tf.dispose(current.weights as never)
      current.weights = upload(current.shapes, (name) => copies[name]!)
      current.labels.version = version ?? current.labels.version
    },

    optimizer() {
      const { steps, first, second } = opened()
      return { steps, first: download(first), second: download(second) }
    },

    async close() {
      release()
    },
  }
}
