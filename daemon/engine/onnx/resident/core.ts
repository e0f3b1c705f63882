// The ONNX engine where the provider can keep tensors on the device between calls: weights, gradients and moments live
// there, and so do the keys and values of sequences. The host sends tokens and reads logits, sums and norms; whole tensors
// travel only when they are asked for. Runs on the CPU's provider too, which is how it is tested without a device.

import { WaggleError } from '../../../../protocol/errors.ts'
import type { Core } from '../../core.ts'
import { type DecoderSpec, frozenShapes, trainableShapes, type Weights } from '../../decoder.ts'
import type { GradientRequest } from '../../engine.ts'
import { checkTensors } from '../../inputs.ts'
import { createWriter, type Labels } from '../../writer.ts'
import { generate } from '../generate.ts'
import { INITIAL, type Precision } from '../loss-scale.ts'
import { type Algebra, createMixture, type Mixture } from '../mixture.ts'
import type { AdamWOptions } from '../optimizer.ts'
import type { Provider } from '../provider.ts'
import { DEFAULT_SLOTS, type Room } from '../room.ts'
import { createRuntime, type Held, type Runtime } from '../runtime.ts'
import { score } from '../score.ts'
import { firstNonFinite, type GradientPlace, gradientInto, type StepParts } from '../step.ts'
import { createDeviceCache } from './cache.ts'
import { applyAdamW, blend, innerProducts, squaredNorm } from './optimizer.ts'
import { createPlaces, download, type Places, partsOf, release, type Shapes, upload } from './places.ts'
import { applySideStep, squaredLengths } from './side-step.ts'

export interface ResidentCoreOptions {
  provider: Provider
  threads: number
  /** Tokens, padding included, in a micro-batch. */
  microBatchTokens?: number
  /** Layers are computed again for the backward pass: less memory, about a third more work. */
  checkpointing?: boolean
  /** Of the products of matrices in scoring and training; float32 if left out. */
  precision?: Precision
  maxSessions?: number
  /** Instead of `microBatchTokens`: what may become less while it runs (`room.ts`). */
  room?: Room
  /** Monotonic milliseconds, for the reports. */
  now: () => number
}

export interface ResidentCore extends Core {
  /** What is on the device now, compiled graphs apart. */
  readonly held: { count: number; bytes: number }
}

interface State {
  spec: DecoderSpec
  shapes: Shapes
  parts: ReturnType<typeof partsOf>
  frozen: Places
  weights: Places
  /** Only an engine that trains has these. */
  gradient: Places
  first: Places
  second: Places
  steps: number
  /** An update broke off half way: these weights are nobody's. */
  isSpoilt?: boolean
  labels: Labels
}

export function createResidentCore({
  provider,
  threads,
  microBatchTokens = 8192,
  checkpointing = false,
  precision = 'float32',
  maxSessions = 48,
  room = { microBatchTokens, slots: DEFAULT_SLOTS },
  now,
}: ResidentCoreOptions): ResidentCore {
  const runtime: Runtime = createRuntime({ threads, maxSessions, provider })
  room.free = () => runtime.close()
  const stepParts: StepParts = {
    runtime,
    checkpointing,
    scaling: precision === 'float16' ? { state: INITIAL } : undefined,
    now,
    get microBatchTokens() {
      return room.microBatchTokens
    },
  }
  let state: State | undefined
  let mixture: Mixture | undefined
  /** What the mixture has on the device. */
  const mixed: Places[] = []

  const opened = (): State => {
    if (!state) throw new WaggleError('E_ENGINE', 'the engine holds no model yet')
    if (state.isSpoilt)
      throw new WaggleError('E_ENGINE', 'an update broke off half way', { data: { trouble: 'device' } })
    return state
  }
  const close = (): void => {
    for (const which of ['frozen', 'weights', 'gradient', 'first', 'second'] as const) release(state?.[which])
    for (const places of mixed.splice(0)) release(places)
    state = undefined
    mixture = undefined
  }
  const parametersOf = ({ frozen, weights }: State): Record<string, Held> => ({ ...frozen, ...weights })
  const placeOf = ({ shapes, parts, gradient }: State): GradientPlace => ({
    views: gradient,
    clear: () => release(gradient),
    squaredNorm: () => squaredNorm(gradient, parts, runtime),
    async firstNonFinite() {
      return firstNonFinite({ names: [...shapes.keys()] }, { views: await download(gradient, runtime) })
    },
  })

  const compute = (request: GradientRequest, current: State) =>
    gradientInto(
      placeOf(current),
      request,
      { spec: current.spec, parameters: parametersOf(current) },
      stepParts,
    )
  const apply = async (options: AdamWOptions, step: number, norm: number, current: State): Promise<void> => {
    const { weights, gradient, first, second, parts } = current
    const tensors = { weight: weights, gradient, first, second }
    await moving(current, () => applyAdamW(options, step, norm, tensors, parts, runtime))
  }
  const moving = async (current: State, move: () => Promise<void>): Promise<void> => {
    try {
      await move()
    } catch (error) {
      // Some tensors may have moved and others not: no smaller portion mends that.
      current.isSpoilt = true
      throw new WaggleError('E_ENGINE', `an update broke off: ${(error as Error).message}`, {
        cause: error,
        data: { trouble: 'device' },
      })
    }
  }
  const algebraOf = (current: State): Algebra<Places> => {
    const { shapes, parts, gradient, second } = current
    return {
      gradient,
      steps: () => current.steps,
      compute: (request) => compute(request, current),
      create() {
        const places = createPlaces(shapes, runtime)
        mixed.push(places)
        return places
      },
      async blend(x, byX, y, byY, into) {
        // An empty place counts as zeros, and no factor keeps what is not finite out of a sum.
        const empty = createPlaces(shapes, runtime)
        await blend(byX === 0 ? empty : x, byX, byY === 0 ? empty : y, byY, into, parts, runtime)
      },
      squaredNorm: (values) => squaredNorm(values, parts, runtime),
      products: (a, b, { beta2, epsilon }, steps) =>
        innerProducts({ a, b, second }, { beta2, epsilon, steps }, parts, runtime),
      firstNonFinite: async () => placeOf(current).firstNonFinite(),
      apply: (options, step, norm) => apply(options, step, norm, current),
      lengths: (side, main, metric) => squaredLengths({ side, main, second }, metric, parts, runtime),
      stepAside: (side, rate, metric) =>
        moving(current, () =>
          applySideStep({ side, weight: current.weights, second }, rate, metric, parts, runtime),
        ),
    }
  }

  return {
    get held() {
      return { ...runtime.held }
    },

    async open({ spec, weights, optimizer, ...labels }) {
      const shapes = trainableShapes(spec)
      checkTensors(weights, shapes, 'weights')
      checkTensors(weights, frozenShapes(spec), 'weights')
      for (const which of ['first', 'second'] as const)
        if (optimizer) checkTensors(optimizer[which], shapes, `${which} moments`)
      // Compiled graphs hold one model's sizes.
      if (state && JSON.stringify(state.spec) !== JSON.stringify(spec)) await runtime.close()
      close()
      const made: State = {
        spec,
        shapes,
        parts: partsOf(shapes),
        frozen: createPlaces(frozenShapes(spec), runtime),
        weights: createPlaces(shapes, runtime),
        gradient: createPlaces(shapes, runtime),
        first: createPlaces(shapes, runtime),
        second: createPlaces(shapes, runtime),
        steps: optimizer?.steps ?? 0,
        labels: { version: 0, ...labels },
      }
      state = made
      await upload(made.frozen, weights, runtime)
      await upload(made.weights, weights, runtime)
      if (stepParts.scaling) stepParts.scaling.state = optimizer?.lossScale ?? INITIAL
      if (!optimizer) return
      await upload(made.first, optimizer.first, runtime)
      await upload(made.second, optimizer.second, runtime)
    },

    async generate(request, { onToken, ...steering } = {}) {
      const current = opened()
      return generate(request, {
        spec: current.spec,
        createCache: (sizes) =>
          createDeviceCache({ spec: current.spec, ...sizes }, { runtime, weights: parametersOf(current) }),
        steering,
        write: createWriter(request, {
          vocabulary: current.spec.vocabulary,
          labels: current.labels,
          onToken,
        }),
      })
    },

    async score(request) {
      const current = opened()
      const model = { spec: current.spec, parameters: parametersOf(current) }
      return score(request, model, stepParts)
    },

    async train(request) {
      const current = opened()
      const started = now()
      const report = await compute(request, current)
      const applied = report.nonFinite === undefined
      if (applied) {
        await apply(request.optimizer, current.steps + 1, report.gradientNorm, current)
        current.steps += 1
      }
      // Between steps its memory is free for sampling.
      release(current.gradient)
      return { applied, ...report, seconds: (now() - started) / 1000 }
    },

    async gradient(request) {
      mixture ??= createMixture(algebraOf(opened()), { now })
      return mixture.gradient(request)
    },

    async keep(request) {
      await mixture?.keep(request)
    },

    async descend(request) {
      if (!mixture) throw new WaggleError('E_ENGINE', 'there is no gradient to descend along')
      const report = await mixture.descend(request)
      if (report.applied) opened().steps += 1
      return report
    },

    weights: () => download(opened().weights, runtime),

    async setWeights(weights: Weights, version) {
      const { shapes, weights: places, labels } = opened()
      checkTensors(weights, shapes, 'weights')
      await upload(places, weights, runtime)
      labels.version = version ?? labels.version
    },

    async optimizer() {
      const { steps, first, second } = opened()
      const { scaling } = stepParts
      return {
        steps,
        first: await download(first, runtime),
        second: await download(second, runtime),
        ...(scaling ? { lossScale: scaling.state } : {}),
      }
    },

    async close() {
      close()
      await runtime.close()
    },
  }
}
