// The ONNX engine behind the engine contract, outside the caller's thread.

import type { Engine } from '../engine.ts'
import { createEngineThread } from '../thread.ts'
import type { Precision } from './loss-scale.ts'
import type { Provider } from './provider.ts'

export interface OnnxEngineOptions {
  threads: number
  microBatchTokens?: number
  /** Layers are computed again for the backward pass. */
  checkpointing?: boolean
  /** Of the products of matrices in scoring and training; float32 if left out. */
  precision?: Precision
  maxSessions?: number
  /** The CPU's if left out. */
  provider?: Provider
  /** Tensors stay on the device between calls; if left out, where the provider can. */
  isResident?: boolean
  /** In a process of its own, as devices are; for tests of that. */
  isProcess?: boolean
}

export function createOnnxEngine(options: OnnxEngineOptions, reason = 'asked for'): Engine {
  return createOnnxEngines(1, options, { reason })[0]!
}

/**
 * As many engines. On the CPU each has a thread of its own; a device is driven from one thread, which they share, and in
 * a process of its own, since a driver may take that along.
 */
export function createOnnxEngines(
  count: number,
  options: OnnxEngineOptions,
  { reason, onNotice }: { reason: string; onNotice?: ((message: string) => void) | undefined },
): Engine[] {
  // ONNX Runtime reports its use to its maker otherwise. Set on this thread: a worker's environment is a copy, which
  // native code does not see.
  process.env.ORT_DISABLE_TELEMETRY ??= '1'
  const { provider = 'cpu', threads } = options
  const isProcess = provider !== 'cpu' || options.isProcess === true
  const make = () =>
    createEngineThread({ worker: new URL('./worker', import.meta.url), options, isProcess, onNotice })
  const shared = isProcess ? make() : undefined
  return Array.from({ length: count }, () =>
    (shared ?? make()).engine({ kind: 'onnx', device: provider, reason, threads }),
  )
}
