// The ONNX engine for providers that can keep tensors on the device between calls: weights, gradients, moments and the
// KV cache stay there. The host sends tokens and reads logits, sums and norms; whole tensors are copied only on
// request. It also runs on the CPU provider, so it can be tested without a device.

import { WaggleError } from '../../../../protocol/errors.ts'
import { type Core, generateBy } from '../../core.ts'
import { type DecoderSpec, frozenShapes, trainableShapes } from '../../decoder.ts'
import type { OptimizerOptions } from '../../engine.ts'
import { checkTensors, trainedIn } from '../../inputs.ts'
import { createNamedVectors, type NamedVectors, type VectorSpace, vectorCalls } from '../../named-vectors.ts'
import { createWriter, type Labels } from '../../sampling/writer.ts'
import { asFloats } from '../../stored/stored.ts'
import { GRADIENT } from '../../trainer.ts'
import type { Weights } from '../../weights.ts'
import { decode as decodeCalls } from '../decoding/decoding.ts'
import { INITIAL, type Precision } from '../loss-scale.ts'
import type { Provider } from '../runtime/provider.ts'
import { DEFAULT_SLOTS, type Room } from '../runtime/room.ts'
import { createRuntime, type Held, type Runtime } from '../runtime/runtime.ts'
import { score } from '../score.ts'
import {
  type BatchRequest,
  firstNonFinite,
  type GradientStore,
  gradientInto,
  type StepParts,
} from '../step.ts'
import { createDeviceCache } from './cache.ts'
import {
  createDeviceTensors,
  type DeviceTensors,
  download,
  partsOf,
  release,
  type Shapes,
  upload,
} from './device-tensors.ts'
import { applyAdamW } from './optimizer.ts'
import { deviceVectors } from './vectors.ts'

interface ResidentCoreOptions {
  provider: Provider
  threads: number
  /** Tokens of a micro-batch, padding included. */
  microBatchTokens?: number
  /** Recompute each layer in the backward pass: less memory, about a third more work. */
  checkpointing?: boolean
  /** Precision of matrix products in scoring and training; float32 if left out. */
  precision?: Precision
  maxSessions?: number
  /** Replaces `microBatchTokens` with limits that may shrink at run time (`runtime/room.ts`). */
  room?: Room
  /** Monotonic milliseconds, for the reports. */
  now: () => number
}

interface ResidentCore extends Core {
  /** Tensors and bytes held on the device, without compiled graphs. */
  readonly held: { count: number; bytes: number }
}

interface State {
  spec: DecoderSpec
  shapes: Shapes
  parts: ReturnType<typeof partsOf>
  frozen: DeviceTensors
  weights: DeviceTensors
  space: VectorSpace<DeviceTensors>
  vectors: NamedVectors<DeviceTensors>
  /** Created only when the engine trains. */
  first: DeviceTensors
  second: DeviceTensors
  steps: number
  /** An update failed half way, so the weights are inconsistent. */
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

  const opened = (): State => {
    if (!state) throw new WaggleError('E_ENGINE', 'the engine holds no model yet')
    if (state.isSpoilt)
      throw new WaggleError('E_ENGINE', 'an update broke off half way', { data: { trouble: 'device' } })
    return state
  }
  const close = (): void => {
    for (const which of ['frozen', 'weights', 'first', 'second'] as const) release(state?.[which])
    for (const tensors of state?.vectors.clear() ?? []) release(tensors)
    state = undefined
  }
  const parametersOf = ({ frozen, weights }: State): Record<string, Held> => ({ ...frozen, ...weights })
  const brokenIn = async (tensors: DeviceTensors, { shapes }: State): Promise<string> =>
    firstNonFinite({ names: [...shapes.keys()] }, { views: await download(tensors, runtime) })
  const compute = (request: BatchRequest, into: DeviceTensors, current: State) => {
    const store: GradientStore = {
      views: into,
      clear: () => release(into),
      squaredNorm: () => current.space.squaredNorm(into),
      firstNonFinite: () => brokenIn(into, current),
    }
    return gradientInto(store, request, { spec: current.spec, parameters: parametersOf(current) }, stepParts)
  }
  const step = async (gradient: DeviceTensors, norm: number, optimizer: OptimizerOptions): Promise<void> => {
    const current = opened()
    const { weights, first, second, parts } = current
    const tensors = { weight: weights, gradient, first, second }
    await moving(current, () => applyAdamW(optimizer, current.steps + 1, norm, tensors, parts, runtime))
    current.steps += 1
  }
  const moving = async (current: State, move: () => Promise<void>): Promise<void> => {
    try {
      await move()
    } catch (error) {
      // Some tensors may have been updated and others not; retrying with smaller portions cannot repair that.
      current.isSpoilt = true
      throw new WaggleError('E_ENGINE', `an update broke off: ${(error as Error).message}`, {
        cause: error,
        data: { trouble: 'device' },
      })
    }
  }
  const decode: Core['decode'] = async (decoding) => {
    const current = opened()
    const { spec, labels } = current
    await decodeCalls(decoding, {
      spec,
      readAtOnce: room.microBatchTokens,
      createCache: (size) =>
        createDeviceCache({ spec, ...size }, { runtime, weights: parametersOf(current) }),
      writerOf: ({ request, steering: { onToken } }) =>
        createWriter(request, { vocabulary: spec.vocabulary, labels, onToken }),
    })
  }

  return {
    get held() {
      return { ...runtime.held }
    },

    async open({ spec, weights, optimizer, ...labels }) {
      const shapes = trainableShapes(spec)
      const trained = trainedIn(weights, shapes)
      checkTensors(weights, frozenShapes(spec), 'weights')
      for (const which of ['first', 'second'] as const)
        if (optimizer) checkTensors(optimizer[which], shapes, `${which} moments`)
      // Compiled graphs are specific to one model's sizes.
      if (state && JSON.stringify(state.spec) !== JSON.stringify(spec)) await runtime.close()
      close()
      const [parts, tensors] = [partsOf(shapes), createDeviceTensors(shapes, runtime)]
      const second = createDeviceTensors(shapes, runtime)
      const space = deviceVectors({ shapes, parts, second }, runtime)
      const made: State = {
        spec,
        shapes,
        parts,
        frozen: createDeviceTensors(frozenShapes(spec), runtime),
        weights: tensors,
        space,
        vectors: createNamedVectors(space, { steps: () => made.steps }),
        first: createDeviceTensors(shapes, runtime),
        second,
        steps: optimizer?.steps ?? 0,
        labels: { version: 0, ...labels },
      }
      state = made
      for (const [name, tensor] of Object.entries(made.frozen))
        await runtime.write(tensor, asFloats(weights[name]!))
      await upload(made.weights, trained, runtime)
      if (stepParts.scaling) stepParts.scaling.state = optimizer?.lossScale ?? INITIAL
      if (!optimizer) return
      await upload(made.first, optimizer.first, runtime)
      await upload(made.second, optimizer.second, runtime)
    },

    decode,
    generate: generateBy(decode),

    async score(request) {
      const current = opened()
      const model = { spec: current.spec, parameters: parametersOf(current) }
      return score(request, model, stepParts)
    },

    async train(request) {
      const current = opened()
      const started = now()
      const along = current.vectors.toOverwrite(GRADIENT)
      const report = await compute(request, along, current)
      const applied = report.nonFinite === undefined
      if (applied) await step(along, report.gradientNorm, request.optimizer)
      // Sampling can use this memory between steps.
      release(along)
      return { applied, ...report, seconds: (now() - started) / 1000 }
    },

    async gradient({ into, ...request }) {
      const current = opened()
      return compute(request, current.vectors.toOverwrite(into), current)
    },

    async step({ along, optimizer }) {
      const current = opened()
      const started = now()
      const tensors = current.vectors.held(along)
      const norm = Math.sqrt(await current.space.squaredNorm(tensors))
      const applied = Number.isFinite(norm)
      if (applied) await step(tensors, norm, optimizer)
      const nonFinite = applied ? {} : { nonFinite: await brokenIn(tensors, current) }
      return { applied, norm, seconds: (now() - started) / 1000, ...nonFinite }
    },

    ...vectorCalls(() => opened().vectors),

    weights: () => download(opened().weights, runtime),

    async setWeights(weights: Weights, version) {
      const { shapes, weights: tensors, labels } = opened()
      checkTensors(weights, shapes, 'weights')
      await upload(tensors, weights, runtime)
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
