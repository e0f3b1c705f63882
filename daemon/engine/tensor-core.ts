// The core of an engine: the calls of the contract over one model's tensors, wherever these are kept. A back end says
// how tensors are kept (`TensorSpace`) and how a model computes with them (`OpenModel`).

import { WaggleError } from '../../protocol/errors.ts'
import { type Core, type Decoding, generateBy } from './core.ts'
import { type DecoderSpec, frozenShapes, trainableShapes } from './decoder.ts'
import type { OpenRequest } from './engine.ts'
import { checkTensors, trainedIn } from './inputs.ts'
import { createNamedVectors, type NamedVectors, type VectorSpace, vectorCalls } from './named-vectors.ts'
import { type Labels, labelsOf } from './sampling/writer.ts'
import {
  GRADIENT,
  type GradientReport,
  type GradientRequest,
  type OptimizerOptions,
  type Score,
  type ScoreRequest,
  type TrainReport,
} from './trainer.ts'
import type { LossScale, Weights } from './weights.ts'

/** How sets of tensors are kept, each with one tensor for every trained parameter. */
export interface TensorSpace<Tensors> extends VectorSpace<Tensors> {
  /** Copies values in. They have been checked. */
  fill(into: Tensors, values: Weights): void | Promise<void>
  /** A copy, which the caller may keep or transfer. */
  copy(tensors: Tensors): Weights | Promise<Weights>
  /** Frees memory whose content is no longer needed. */
  release(tensors: Tensors): void
  /** One AdamW update, number `step` (from 1), in place. `norm` is the gradient's 2-norm. */
  applyAdamW(
    options: OptimizerOptions,
    at: { step: number; norm: number },
    tensors: AdamWTensors<Tensors>,
  ): void | Promise<void>
  /** The name of the first tensor whose own norm is not finite in single precision. */
  firstNonFinite(gradient: Tensors): string | undefined | Promise<string | undefined>
}

export interface AdamWTensors<Tensors> {
  weights: Tensors
  gradient: Tensors
  first: Tensors
  second: Tensors
}

/** A batch, without the destination for its gradient. */
export type BatchRequest = Omit<GradientRequest, 'into'>

/** A model's computations, with weights that the core holds. */
export interface OpenModel<Tensors> {
  space: TensorSpace<Tensors>
  gradient(into: Tensors, request: BatchRequest, weights: Tensors): Promise<GradientReport>
  score(request: ScoreRequest, weights: Tensors): Promise<Score[]>
  decode(decoding: Decoding, weights: Tensors, labels: Labels): Promise<void>
  /** Forgets what was computed with weights that have changed. */
  forget?(): void
  /** Frees the tensors that are not trained. */
  close?(): void
}

export interface BackEnd<Tensors> {
  /** The weights have been checked. `second` returns the optimizer's second moments. */
  open(request: {
    spec: DecoderSpec
    weights: OpenRequest['weights']
    second: () => Tensors
    lossScale: LossScale | undefined
  }): Promise<OpenModel<Tensors>>
  /** Undefined if gradients are not scaled. */
  lossScale?(): LossScale | undefined
  close(): Promise<void>
}

interface State<Tensors> {
  model: OpenModel<Tensors>
  shapes: ReadonlyMap<string, number[]>
  weights: Tensors
  /** Created when first needed, so an engine that never trains has none. */
  moments?: { first: Tensors; second: Tensors }
  vectors: NamedVectors<Tensors>
  /** Steps that the moments have seen. */
  steps: number
  /** An update failed half way, so the weights are inconsistent. */
  isSpoilt?: boolean
  labels: Labels
}

/** `now` returns monotonic milliseconds, for the reports. */
export function createTensorCore<Tensors>(backEnd: BackEnd<Tensors>, { now }: { now: () => number }): Core {
  let state: State<Tensors> | undefined
  const opened = (): State<Tensors> => {
    if (!state) throw new WaggleError('E_ENGINE', 'the engine holds no model yet')
    if (state.isSpoilt)
      throw new WaggleError('E_ENGINE', 'an update broke off half way', { data: { trouble: 'device' } })
    return state
  }
  const release = (): void => {
    if (!state) return
    const { model, weights, moments, vectors } = state
    for (const tensors of [weights, ...Object.values(moments ?? {}), ...vectors.clear()])
      model.space.release(tensors)
    model.close?.()
    state = undefined
  }
  const decode: Core['decode'] = async (decoding) => {
    const { model, weights, labels } = opened()
    await model.decode(decoding, weights, labels)
  }

  return {
    async open({ spec, weights, optimizer, ...labels }) {
      const shapes = trainableShapes(spec)
      const trained = trainedIn(weights, shapes)
      checkTensors(weights, frozenShapes(spec), 'weights')
      for (const which of ['first', 'second'] as const)
        if (optimizer) checkTensors(optimizer[which], shapes, `${which} moments`)
      release()
      const second = (): Tensors => momentsOf(opened()).second
      const model = await backEnd.open({ spec, weights, second, lossScale: optimizer?.lossScale })
      const { space } = model
      const made: State<Tensors> = {
        model,
        shapes,
        weights: space.create(),
        vectors: createNamedVectors(space, { steps: () => made.steps }),
        steps: optimizer?.steps ?? 0,
        labels: labelsOf(labels),
      }
      state = made
      await space.fill(made.weights, trained)
      if (!optimizer) return
      const moments = momentsOf(made)
      await space.fill(moments.first, optimizer.first)
      await space.fill(moments.second, optimizer.second)
    },

    decode,
    generate: generateBy(decode),

    async score(request) {
      const { model, weights } = opened()
      return model.score(request, weights)
    },

    ...trainingCalls(opened, { now }),
    ...vectorCalls(() => opened().vectors),

    weights() {
      const { model, weights } = opened()
      return model.space.copy(weights)
    },

    async setWeights(weights, version) {
      const { model, shapes, weights: held, labels } = opened()
      checkTensors(weights, shapes, 'weights')
      await model.space.fill(held, weights)
      model.forget?.()
      labels.version = version ?? labels.version
    },

    async optimizer() {
      const current = opened()
      const { space } = current.model
      const { first, second } = momentsOf(current)
      const lossScale = backEnd.lossScale?.()
      return {
        steps: current.steps,
        first: await space.copy(first),
        second: await space.copy(second),
        ...(lossScale && { lossScale }),
      }
    },

    async close() {
      release()
      await backEnd.close()
    },
  }
}

function momentsOf<Tensors>(state: State<Tensors>): { first: Tensors; second: Tensors } {
  const { space } = state.model
  state.moments ??= { first: space.create(), second: space.create() }
  return state.moments
}

function trainingCalls<Tensors>(
  opened: () => State<Tensors>,
  { now }: { now: () => number },
): Pick<Core, 'train' | 'gradient' | 'step'> {
  const step = async (gradient: Tensors, norm: number, optimizer: OptimizerOptions): Promise<void> => {
    const current = opened()
    const { model, weights } = current
    const at = { step: current.steps + 1, norm }
    try {
      await model.space.applyAdamW(optimizer, at, { weights, gradient, ...momentsOf(current) })
    } catch (error) {
      // Some tensors may have been updated and others not; retrying with smaller portions cannot repair that.
      current.isSpoilt = true
      throw new WaggleError('E_ENGINE', `an update broke off: ${(error as Error).message}`, {
        cause: error,
        data: { trouble: 'device' },
      })
    }
    current.steps += 1
    model.forget?.()
  }
  return {
    async train(request): Promise<TrainReport> {
      const { model, weights, vectors } = opened()
      const started = now()
      const along = vectors.toOverwrite(GRADIENT)
      const report = await model.gradient(along, request, weights)
      const applied = report.nonFinite === undefined
      if (applied) await step(along, report.gradientNorm, request.optimizer)
      // Sampling can use this memory between steps.
      model.space.release(along)
      return { applied, ...report, seconds: (now() - started) / 1000 }
    },

    async gradient({ into, ...request }) {
      const { model, weights, vectors } = opened()
      return model.gradient(vectors.toOverwrite(into), request, weights)
    },

    async step({ along, optimizer }) {
      const { model, vectors } = opened()
      const started = now()
      const tensors = vectors.held(along)
      const norm = Math.sqrt(await model.space.squaredNorm(tensors))
      const applied = Number.isFinite(norm)
      if (applied) await step(tensors, norm, optimizer)
      const nonFinite = applied ? {} : { nonFinite: await brokenIn(model.space, tensors) }
      return { applied, norm, seconds: (now() - started) / 1000, ...nonFinite }
    },
  }
}

async function brokenIn<Tensors>(space: TensorSpace<Tensors>, gradient: Tensors): Promise<string> {
  return (await space.firstNonFinite(gradient)) ?? 'the norm of all gradients'
}

/** What the micro-batches of a batch add up to. */
interface BatchSums
  extends Pick<GradientReport, 'completionTokens' | 'realTokens' | 'computedTokens' | 'microBatches'> {
  /** The loss's masked sum, then each metric's, in the order of the objective's metrics. */
  totals: Float64Array
}

/** The report of a batch whose gradient is complete: its norm, the means, and what is not finite. */
export async function reportOf<Tensors>(
  space: TensorSpace<Tensors>,
  gradient: Tensors,
  { objective, denominator }: BatchRequest,
  { totals, ...counts }: BatchSums,
): Promise<Omit<GradientReport, 'seconds'>> {
  const gradientNorm = Math.sqrt(await space.squaredNorm(gradient))
  const nonFinite = !Number.isFinite(totals[0]!)
    ? 'loss'
    : Number.isFinite(gradientNorm)
      ? undefined
      : await brokenIn(space, gradient)
  const metrics = Object.keys(objective.metrics).map((name, i) => [
    name,
    totals[i + 1]! / Math.max(1, counts.completionTokens),
  ])
  return {
    ...(nonFinite === undefined ? {} : { nonFinite }),
    loss: totals[0]! / denominator,
    gradientNorm,
    metrics: Object.fromEntries(metrics),
    ...counts,
  }
}
