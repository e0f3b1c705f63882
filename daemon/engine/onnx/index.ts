// The ONNX engine behind the engine contract, outside the caller's thread.

import type { Engine } from '../engine.ts'
import { createEngineThread, type EngineThread } from '../thread/thread.ts'
import type { Precision } from './loss-scale.ts'
import type { Provider } from './runtime/provider.ts'

/** Whether sampling rounds the values that it multiplies by 4- and 8-bit weights to 8 bits, as llama.cpp does. */
export type SamplingPrecision = 'int8' | 'float32'

export interface OnnxEngineOptions {
  threads: number
  /** Tokens of a micro-batch, padding included. On the CPU, small enough for its activations to stay in the cache. */
  microBatchTokens?: number
  /** Less memory for 40 % more work: recomputes each layer in the backward pass, and does not pool freed memory. */
  checkpointing?: boolean
  /**
   * Give memory back as soon as it is free. Otherwise every compiled shape keeps what its largest call took, so that a few
   * shapes of a large model take a multiple of one.
   */
  returnsMemory?: boolean
  /** Sampling's 4- and 8-bit weights are fixed inputs, which the runtime keeps a packed copy of: fast; true if left out. */
  packs?: boolean
  /** Precision of what sampling multiplies these weights by; `int8` if left out. */
  samplingPrecision?: SamplingPrecision
  /** Precision of matrix products in scoring and training; float32 if left out. */
  precision?: Precision
  maxSessions?: number
  /** The CPU's if left out. */
  provider?: Provider
  /** Keep tensors on the device between calls. If left out, this is done wherever the provider supports it. */
  isResident?: boolean | undefined
  /** For tests: run in a separate process, as is done for devices. */
  isProcess?: boolean
}

export function createOnnxEngine(options: OnnxEngineOptions, reason = 'asked for'): Engine {
  return onnxEngineFactory(options, { reason })()
}

/**
 * Returns a function that creates one engine per call. On the CPU each engine has its own thread, unless they are to
 * share one. On a device they share one thread in a separate process, because a failing driver may crash it. A shared
 * thread ends with the last of its engines; the next engine starts another.
 */
export function onnxEngineFactory(
  options: OnnxEngineOptions,
  { reason, onNotice, sharesThread = false }: OnnxEngineParts,
): () => Engine {
  // Otherwise ONNX Runtime reports usage data to its maker. Set in this thread, because a worker's environment is a
  // copy that native code does not see.
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

interface OnnxEngineParts {
  /** Why this device was chosen, in words. */
  reason: string
  onNotice?: ((message: string) => void) | undefined
  /** Run all engines in one thread, taking turns step by step: less memory and, on one core, no more time. */
  sharesThread?: boolean
}
