// The ONNX engine, in the thread that creates it. `worker.ts` runs it in a thread; `index.ts` is what the daemon uses.

import type { Core, Decoding } from '../core.ts'
import { decode } from '../decoding/decoding.ts'
import { DEFAULT_SLOTS } from '../decoding/slots.ts'
import type { Labels } from '../sampling/writer.ts'
import { type BackEnd, createTensorCore, type OpenModel } from '../tensor-core.ts'
import type { Arena } from './host/arena.ts'
import type { OnnxEngineOptions } from './index.ts'
import { INITIAL } from './loss-scale.ts'
import { modelOnDevice, modelOnHost, type OnnxModel } from './model.ts'
import type { DeviceTensors } from './resident/device-tensors.ts'
import { sharesFixed } from './runtime/frozen.ts'
import type { HeldMemory } from './runtime/held.ts'
import { PROVIDERS } from './runtime/provider.ts'
import type { Room } from './runtime/room.ts'
import { createRuntime, type Feeds } from './runtime/runtime.ts'
import { score } from './score.ts'
import { gradientInto, type StepParts } from './step.ts'

export type { Core }

export interface CoreOptions extends Omit<OnnxEngineOptions, 'isProcess'> {
  /** Replaces `microBatchTokens` with limits that may shrink at run time (`runtime/room.ts`). */
  room?: Room
  /** Monotonic milliseconds, for the reports. */
  now: () => number
}

interface OnnxCore extends Core {
  /** Tensors and bytes held on the device, without compiled graphs. */
  held(): HeldMemory
}

/** A device is used better by larger micro-batches. */
const MICRO_BATCH_TOKENS = { host: 2048, device: 8192 }
/** A micro-batch of this size or less is only requested where memory is short. */
const SHORT_TOKENS = 512

export function roomOf({ provider = 'cpu', microBatchTokens }: Partial<CoreOptions>): Room {
  const tokens = microBatchTokens ?? MICRO_BATCH_TOKENS[provider === 'cpu' ? 'host' : 'device']
  return { microBatchTokens: tokens, slots: DEFAULT_SLOTS }
}

export function createCore(options: CoreOptions): OnnxCore {
  const { threads, provider = 'cpu', checkpointing = false, maxSessions = 48, now } = options
  const { isResident = PROVIDERS[provider].heldIn !== 'cpu', packs = true, samplingPrecision } = options
  const room = options.room ?? roomOf(options)
  const isShort = checkpointing || room.microBatchTokens <= SHORT_TOKENS
  const keepsMemory = isResident || !(isShort || options.returnsMemory)
  const runtime = createRuntime({ threads, maxSessions, provider, keepsMemory })
  const parts: StepParts = {
    runtime,
    checkpointing,
    scaling: options.precision === 'float16' ? { state: INITIAL } : undefined,
    now,
    get microBatchTokens() {
      return room.microBatchTokens
    },
  }
  const packing = packs ? (samplingPrecision === 'float32' ? 'floats' : 'bytes') : undefined
  const onDevice = (given: Opening<DeviceTensors>) => modelOnDevice(given, { runtime })
  const onHost = (given: Opening<Arena>) => modelOnHost(given, { runtime, packing })
  const core = isResident
    ? createTensorCore(backEndOf(onDevice, parts, room), { now })
    : createTensorCore(backEndOf(onHost, parts, room), { now })
  return { ...core, held: () => ({ ...runtime.held }) }
}

type Opening<Tensors> = Omit<Parameters<BackEnd<Tensors>['open']>[0], 'lossScale'>

function backEndOf<Tensors>(
  openModel: (given: Opening<Tensors>) => OnnxModel<Tensors>,
  parts: StepParts,
  room: Room,
): BackEnd<Tensors> {
  const { runtime, scaling } = parts
  let model: OnnxModel<Tensors> | undefined
  room.free = () => {
    model?.forget?.()
    return runtime.close()
  }
  return {
    async open({ lossScale, ...given }) {
      const made = openModel(given)
      if (model && !sharesGraphs(model, made)) await runtime.close()
      model = made
      await made.uploadFrozen?.()
      if (scaling) scaling.state = lossScale ?? INITIAL
      return computationsOf(made, parts, room)
    },
    lossScale: () => scaling?.state,
    async close() {
      model = undefined
      await runtime.close()
    },
  }
}

/** Compiled graphs are specific to one model's sizes, and some to its frozen weights. */
function sharesGraphs<Tensors>(a: OnnxModel<Tensors>, b: OnnxModel<Tensors>): boolean {
  return JSON.stringify(a.spec) === JSON.stringify(b.spec) && sharesFixed(b.spec, a.frozen, b.frozen)
}

function computationsOf<Tensors>(
  { spec, frozen, space, createCache, forget, close }: OnnxModel<Tensors>,
  parts: StepParts,
  room: Room,
): OpenModel<Tensors> {
  const parametersOf = (weights: Tensors): Feeds => ({ ...frozen, ...space.views(weights) })
  return {
    space,
    gradient: (into, request, weights) =>
      gradientInto(into, request, { spec, parameters: parametersOf(weights), space }, parts),
    score: (request, weights) => score(request, { spec, parameters: parametersOf(weights) }, parts),
    decode(decoding: Decoding, weights: Tensors, labels: Labels) {
      const parameters = parametersOf(weights)
      return decode(decoding, {
        spec,
        readAtOnce: room.microBatchTokens,
        labels,
        createCache: (size) => createCache(size, parameters),
      })
    },
    ...(forget && { forget }),
    ...(close && { close }),
  }
}
