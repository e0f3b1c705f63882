// The ONNX engine, in the thread that creates it: weights, optimizer state, and the calls of the contract. `worker.ts`
// runs it in a thread; `index.ts` is what the daemon uses.

import { WaggleError } from '../../../protocol/errors.ts'
import { type Core, generateBy } from '../core.ts'
import { type DecoderSpec, frozenShapes, trainableShapes } from '../decoder.ts'
import { checkTensors, holdFrozen, trainedIn } from '../inputs.ts'
import { createNamedVectors, type NamedVectors, vectorCalls } from '../named-vectors.ts'
import { KEPT_BYTES } from '../sampler.ts'
import { createWriter, type Labels } from '../sampling/writer.ts'
import { GRADIENT, type OptimizerOptions, type StepReport } from '../trainer.ts'
import { decode as decodeCalls } from './decoding/decoding.ts'
import { type Arena, copyArena, createArena, fillArena, type Layout, layoutOf } from './host/arena.ts'
import { createHostCache } from './host/cache.ts'
import { createKeptSequences } from './host/kept.ts'
import { applyAdamW, type Moments, squaredNorm } from './host/optimizer.ts'
import { hostVectors } from './host/vectors.ts'
import type { SamplingPrecision } from './index.ts'
import { INITIAL, type Precision } from './loss-scale.ts'
import { feedsOf, frozenOn, sharesFixed, withForms } from './runtime/frozen.ts'
import type { Provider } from './runtime/provider.ts'
import { DEFAULT_SLOTS, type Room } from './runtime/room.ts'
import { createRuntime, type Feeds, type Runtime } from './runtime/runtime.ts'
import { score } from './score.ts'
import { firstNonFinite, gradientInArena, type StepParts } from './step.ts'

export type { Core }

export interface CoreOptions {
  threads: number
  provider?: Provider
  /** Tokens of a micro-batch, padding included. Small enough for its activations to stay in the processor's cache. */
  microBatchTokens?: number
  /** Less memory for 40 % more work: recomputes each layer in the backward pass, and does not pool freed memory. */
  checkpointing?: boolean
  /** Sampling's quantized blocks are fixed inputs, which the runtime keeps a packed copy of; true if left out. */
  packs?: boolean
  /** What they are multiplied by: float32, or values rounded to 8 bits (faster, less exact); `int8` if left out. */
  samplingPrecision?: SamplingPrecision
  /** Precision of matrix products in scoring and training; float32 if left out. */
  precision?: Precision
  maxSessions?: number
  /** Replaces `microBatchTokens` with limits that may shrink at run time (`runtime/room.ts`). */
  room?: Room
  /** Monotonic milliseconds, for the reports. */
  now: () => number
}

interface State {
  spec: DecoderSpec
  layout: Layout
  weights: Arena
  /** Every parameter by name: the frozen ones, and views of `weights` for the trained ones. */
  parameters: Feeds
  /** Created when first needed, so an engine that never trains has none. */
  moments?: Moments
  vectors: NamedVectors<Arena>
  /** Steps that the moments have seen. */
  steps: number
  labels: Labels
}

/** A micro-batch of this size or less is only requested where memory is short. */
const SHORT_TOKENS = 512

export function createCore({
  threads,
  provider = 'cpu',
  microBatchTokens = 2048,
  checkpointing = false,
  packs = true,
  samplingPrecision = 'int8',
  precision = 'float32',
  maxSessions = 48,
  room = { microBatchTokens, slots: DEFAULT_SLOTS },
  now,
}: CoreOptions): Core {
  const isShort = checkpointing || microBatchTokens <= SHORT_TOKENS
  const runtime: Runtime = createRuntime({ threads, maxSessions, provider, keepsMemory: !isShort })
  const packing = packs ? (samplingPrecision === 'int8' ? 'bytes' : 'floats') : undefined
  const kept = createKeptSequences({ most: KEPT_BYTES })
  room.free = () => {
    kept.clear()
    return runtime.close()
  }
  let state: State | undefined
  const parts: StepParts = {
    runtime,
    checkpointing,
    scaling: precision === 'float16' ? { state: INITIAL } : undefined,
    now,
    get microBatchTokens() {
      return room.microBatchTokens
    },
  }

  const opened = (): State => {
    if (!state) throw new WaggleError('E_ENGINE', 'the engine holds no model yet')
    return state
  }
  const momentsOf = (current: State): Moments => {
    current.moments ??= { first: createArena(current.layout), second: createArena(current.layout) }
    return current.moments
  }
  const step = (along: Arena, norm: number, optimizer: OptimizerOptions): void => {
    const current = opened()
    current.steps += 1
    kept.clear()
    applyAdamW(optimizer, current.steps, norm, { ...current, gradient: along, moments: momentsOf(current) })
  }

  const decode: Core['decode'] = async (decoding) => {
    const { spec, parameters, labels } = opened()
    await decodeCalls(decoding, {
      spec,
      readAtOnce: room.microBatchTokens,
      createCache: (size) =>
        createHostCache({ spec, ...size }, { runtime, weights: parameters, packing, kept }),
      writerOf: ({ request, steering: { onToken } }) =>
        createWriter(request, { vocabulary: spec.vocabulary, labels, onToken }),
    })
  }

  return {
    async open({ spec: plain, weights: given, optimizer, ...labels }) {
      const shapes = trainableShapes(plain)
      const trained = trainedIn(given, shapes)
      const frozen = frozenOn(provider, holdFrozen(given, frozenShapes(plain)))
      const spec = withForms(plain, frozen)
      const fed = feedsOf(frozen)
      // Compiled graphs are specific to one model's sizes, and some to its frozen weights.
      const isSame = state && JSON.stringify(state.spec) === JSON.stringify(spec)
      if (state && !(isSame && sharesFixed(spec, state.parameters, fed))) await runtime.close()
      const layout = layoutOf(shapes)
      const weights = createArena(layout)
      fillArena(weights, trained)
      const made: State = {
        spec,
        layout,
        weights,
        parameters: { ...fed, ...weights.views },
        vectors: createNamedVectors(
          hostVectors(layout, () => momentsOf(made).second),
          { steps: () => made.steps },
        ),
        steps: optimizer?.steps ?? 0,
        labels: { version: 0, ...labels },
      }
      state = made
      kept.clear()
      if (parts.scaling) parts.scaling.state = optimizer?.lossScale ?? INITIAL
      if (!optimizer) return
      const moments = momentsOf(made)
      for (const which of ['first', 'second'] as const) {
        checkTensors(optimizer[which], shapes, `${which} moments`)
        fillArena(moments[which], optimizer[which])
      }
    },

    decode,
    generate: generateBy(decode),

    async score(request) {
      const { spec, parameters } = opened()
      return score(request, { spec, parameters }, parts)
    },

    async train(request) {
      const current = opened()
      const started = now()
      const along = current.vectors.toOverwrite(GRADIENT)
      const report = await gradientInArena(along, request, current, parts)
      const applied = report.nonFinite === undefined
      if (applied) step(along, report.gradientNorm, request.optimizer)
      return { applied, ...report, seconds: (now() - started) / 1000 }
    },

    async gradient({ into, ...request }) {
      const current = opened()
      return gradientInArena(current.vectors.toOverwrite(into), request, current, parts)
    },

    async step({ along, optimizer }): Promise<StepReport> {
      const { vectors, layout } = opened()
      const started = now()
      const vector = vectors.held(along)
      const norm = Math.sqrt(squaredNorm(vector))
      const applied = Number.isFinite(norm)
      if (applied) step(vector, norm, optimizer)
      const seconds = (now() - started) / 1000
      return { applied, norm, seconds, ...(applied ? {} : { nonFinite: firstNonFinite(layout, vector) }) }
    },

    ...vectorCalls(() => opened().vectors),

    weights() {
      return copyArena(opened().weights)
    },

    setWeights(weights, version) {
      const { spec, weights: held, labels } = opened()
      checkTensors(weights, trainableShapes(spec), 'weights')
      fillArena(held, weights)
      kept.clear()
      labels.version = version ?? labels.version
    },

    optimizer() {
      const current = opened()
      const { steps } = current
      const moments = momentsOf(current)
      const { scaling } = parts
      return {
        steps,
        first: copyArena(moments.first),
        second: copyArena(moments.second),
        ...(scaling ? { lossScale: scaling.state } : {}),
      }
    },

    async close() {
      state = undefined
      kept.clear()
      await runtime.close()
    },
  }
}
