// A model's tensors for the ONNX engine: in the host's memory, or on a device that can keep them between calls. On a
// device, weights, gradients, moments and the KV cache stay there: the host sends tokens and reads logits, sums and
// norms, and whole tensors are copied only on request. This also runs on the CPU provider, so it can be tested without a
// device.

import { type DecoderSpec, frozenShapes, trainableShapes } from '../decoder.ts'
import type { CacheSize, SequenceCache } from '../decoding/sequence-cache.ts'
import { holdFrozen } from '../inputs.ts'
import { KEPT_BYTES } from '../sampler.ts'
import { asFloats, type BaseWeights } from '../stored/stored.ts'
import type { Packing } from './graph/ops.ts'
import { type Arena, layoutOf } from './host/arena.ts'
import { createHostCache } from './host/cache.ts'
import { createKeptSequences } from './host/kept.ts'
import { hostSpace } from './host/space.ts'
import { createDeviceCache } from './resident/cache.ts'
import { createDeviceTensors, type DeviceTensors, release } from './resident/device-tensors.ts'
import { createMerged } from './resident/merged.ts'
import { deviceSpace } from './resident/space.ts'
import { feedsOf, frozenOn, withForms } from './runtime/frozen.ts'
import type { Feeds, Runtime } from './runtime/runtime.ts'
import type { OnnxSpace } from './step.ts'

export interface OnnxModel<Tensors> {
  /** What graphs are built from: includes the forms of stored matrices, if there are any. */
  spec: DecoderSpec
  /** The parameters that are not trained. */
  frozen: Feeds
  space: OnnxSpace<Tensors>
  createCache(size: CacheSize, weights: Feeds): SequenceCache
  /** Copies the frozen parameters to the device. */
  uploadFrozen?(): Promise<void>
  forget?(): void
  close?(): void
}

interface Given<Tensors> {
  spec: DecoderSpec
  weights: BaseWeights
  /** The optimizer's second moments. */
  second: () => Tensors
}

/** `packing`: how sampling's graph holds quantized blocks; undefined if they are fed in every run. */
export function modelOnHost(
  { spec: plain, weights, second }: Given<Arena>,
  { runtime, packing }: { runtime: Runtime; packing: Packing | undefined },
): OnnxModel<Arena> {
  const held = frozenOn(runtime.options.provider ?? 'cpu', holdFrozen(weights, frozenShapes(plain)))
  const spec = withForms(plain, held)
  const kept = createKeptSequences({ most: KEPT_BYTES })
  return {
    spec,
    frozen: feedsOf(held),
    space: hostSpace(layoutOf(trainableShapes(plain)), second),
    createCache: (size, weights) => createHostCache({ spec, ...size }, { runtime, weights, packing, kept }),
    forget: kept.clear,
  }
}

export function modelOnDevice(
  { spec, weights, second }: Given<DeviceTensors>,
  { runtime }: { runtime: Runtime },
): OnnxModel<DeviceTensors> {
  const frozen = createDeviceTensors(frozenShapes(spec), runtime)
  const merged = createMerged(spec, runtime)
  return {
    spec,
    frozen,
    space: deviceSpace(trainableShapes(spec), second, runtime),
    createCache: (size, weights) =>
      createDeviceCache(
        { spec: merged?.spec ?? spec, ...size },
        { runtime, weights: async () => (merged ? await merged.parameters(weights) : weights) },
      ),
    async uploadFrozen() {
      for (const [name, tensor] of Object.entries(frozen))
        await runtime.write(tensor, asFloats(weights[name]!))
    },
    ...(merged && { forget: merged.release }),
    close() {
      release(frozen)
      merged?.release()
    },
  }
}
