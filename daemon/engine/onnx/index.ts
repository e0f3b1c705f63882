// The ONNX engine behind the engine contract, outside the caller's thread.

import type { Engine } from '../engine.ts'
import { createEngineThread, type EngineThread } from '../thread/thread.ts'
import type { Precision } from './loss-scale.ts'
import type { Provider } from './runtime/provider.ts'

/** Sampling rounds what it multiplies by weights of 4 and 8 bits to 8 bits, as llama.cpp does, or does not. */
export type SamplingPrecision = 'int8' | 'float32'

export interface OnnxEngineOptions {
  threads: number
  microBatchTokens?: number
  /** Recompute each layer in the backward pass. */
  checkpointing?: boolean
  /** Keep a copy of 4- and 8-bit weights that sampling multiplies by fast; true if left out. */
  packs?: boolean
  /** What it multiplies them by; `int8` if left out. */
  samplingPrecision?: SamplingPrecision
  /** Precision of matrix products in scoring and training; float32 if left out. */
  precision?: Precision
  maxSessions?: number
  /** The CPU's if left out. */
  provider?: Provider
  /** Keep tensors on the device between calls; if left out, wherever the provider supports it. */
  isResident?: boolean
  /** Run in a separate process, as for devices; for tests. */
  isProcess?: boolean
}

export function createOnnxEngine(options: OnnxEngineOptions, reason = 'asked for'): Engine {
  return onnxEngineFactory(options, { reason })()
}

/**
 * Returns a function that creates one engine per call. On the CPU each has its own thread, unless they are to share one. On a
 * device they share one, in a separate process, which a failing driver may crash. A shared thread ends with the last of its
 * engines; the next engine starts another.
 */
export function onnxEngineFactory(
  options: OnnxEngineOptions,
  { reason, onNotice, sharesThread = false }: OnnxEngineParts,
): () => Engine {
  // ONNX Runtime reports its use to its maker otherwise. Set on this thread: a worker's environment is a copy,
  // which native code does not see.
  process.env.ORT_DISABLE_TELEMETRY ??= '1'
  const { provider = 'cpu', threads } = options
  const isProcess = provider !== 'cpu' || options.isProcess === true
  const worker = new URL('./worker', import.meta.url)
  let thread: EngineThread | undefined
  return () => {
    if (!thread || thread.hasEnded || !(isProcess || sharesThread))
      thread = createEngineThread({ worker, options, isProcess, onNotice })
    return thread.engine({ kind: 'onnx', device: provider, reason, threads })
  }
}

export interface OnnxEngineParts {
  /** Why this device, for people. */
  reason: string
  onNotice?: ((message: string) => void) | undefined
  /** All engines in one thread, where they take turns step by step. It takes less memory, and on one core no more time. */
  sharesThread?: boolean
}
