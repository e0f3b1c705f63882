// The ONNX engine itself, in whichever thread it is created: weights, optimizer state, and the calls of the contract.
// `worker.ts` puts it into a thread; `index.ts` is what the daemon uses.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Core } from '../core.ts'
import { frozenShapes, trainableShapes } from '../decoder.ts'
import { checkTensors, holdFrozen } from '../inputs.ts'
import { createWriter, type Labels } from '../writer.ts'
import { copyArena, createArena, fillArena, layoutOf } from './arena.ts'
import { generate } from './generate.ts'
import { createHostCache } from './host-cache.ts'
import { INITIAL, type Precision } from './loss-scale.ts'
import { createMixture, hostAlgebra, type Mixture } from './mixture.ts'
import type { Provider } from './provider.ts'
import { DEFAULT_SLOTS, type Room } from './room.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { score } from './score.ts'
import { type StepParts, type Trainable, trainStep } from './step.ts'

export type { Core }

export interface CoreOptions {
  threads: number
  provider?: Provider
  /** Tokens, padding included, in a micro-batch: small enough for activations to stay in the processor's cache. */
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

/** Only an engine that trains holds gradients and moments; they are made at its first step. */
type State = Omit<Trainable, 'gradient' | 'moments'> &
  Partial<Pick<Trainable, 'gradient' | 'moments'>> & { labels: Labels }

export function createCore({
  threads,
  provider = 'cpu',
  microBatchTokens = 2048,
  checkpointing = false,
  precision = 'float32',
  maxSessions = 48,
  room = { microBatchTokens, slots: DEFAULT_SLOTS },
  now,
}: CoreOptions): Core {
  const runtime: Runtime = createRuntime({ threads, maxSessions, provider })
  room.free = () => runtime.close()
  let state: State | undefined
  let mixture: Mixture | undefined
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
  const trainable = (): Trainable => {
    const current = opened()
    current.gradient ??= createArena(current.layout)
    current.moments ??= { first: createArena(current.layout), second: createArena(current.layout) }
    return current as Trainable
  }

  return {
    async open({ spec, weights: given, optimizer, ...labels }) {
      const shapes = trainableShapes(spec)
      checkTensors(given, shapes, 'weights')
      const frozen = holdFrozen(given, frozenShapes(spec))
      // Compiled graphs hold one model's sizes.
      if (state && JSON.stringify(state.spec) !== JSON.stringify(spec)) await runtime.close()
      const layout = layoutOf(shapes)
      mixture = undefined
      const weights = createArena(layout)
      fillArena(weights, given)
      state = {
        spec,
        layout,
        weights,
        parameters: { ...frozen, ...weights.views },
        steps: optimizer?.steps ?? 0,
        labels: { version: 0, ...labels },
      }
      if (parts.scaling) parts.scaling.state = optimizer?.lossScale ?? INITIAL
      if (!optimizer) return
      const { moments } = trainable()
      for (const which of ['first', 'second'] as const) {
        checkTensors(optimizer[which], shapes, `${which} moments`)
        fillArena(moments[which], optimizer[which])
      }
    },

    async generate(request, { onToken, ...steering } = {}) {
      const { spec, parameters, labels } = opened()
      return generate(request, {
        spec,
        createCache: (sizes) => createHostCache({ spec, ...sizes }, { runtime, weights: parameters }),
        steering,
        write: createWriter(request, { vocabulary: spec.vocabulary, labels, onToken }),
      })
    },

    async score(request) {
      const { spec, parameters } = opened()
      return score(request, { spec, parameters }, parts)
    },

    async train(request) {
      const current = trainable()
      const report = await trainStep(request, current, parts)
      if (report.applied) current.steps += 1
      return report
    },

    async gradient(request) {
      const current = trainable()
      mixture ??= createMixture(hostAlgebra(current, parts), { now })
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

    weights() {
      return copyArena(opened().weights)
    },

    setWeights(weights, version) {
      const { spec, weights: held, labels } = opened()
      checkTensors(weights, trainableShapes(spec), 'weights')
      fillArena(held, weights)
      labels.version = version ?? labels.version
    },

    optimizer() {
      const { moments, steps } = trainable()
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
      mixture = undefined
      await runtime.close()
    },
  }
}
