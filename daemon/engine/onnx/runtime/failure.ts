// Classifies the runtime's errors by their messages. After an out-of-memory error the engine uses smaller
// micro-batches; after the loss of a device it switches to another one. The messages are those of ONNX Runtime 1.30's
// providers, of C++ and of drivers.

import { WaggleError } from '../../../../protocol/errors.ts'

export type Trouble = 'memory' | 'device'

const MEMORY =
  /out of (device |host |gpu )?memory|bad_alloc|failed to allocate|allocation (failed|of size)|OUT_OF_(DEVICE|HOST)_MEMORY|OUTOFMEMORY|ALLOC_FAILED|not enough memory|exceeds the max(imum)? (buffer|binding) size/i
const DEVICE =
  /device (is |was )?(lost|removed|hung)|DEVICE_(LOST|REMOVED|HUNG)|CUDA (failure|error)|CUDNN|CUBLAS|webgpu|dawn|\bDml|DirectML|CoreML|MTL/i

export function engineError(what: string, cause: unknown): WaggleError {
  const text = String(cause instanceof Error ? cause.message : cause)
  const trouble: Trouble | undefined = MEMORY.test(text) ? 'memory' : DEVICE.test(text) ? 'device' : undefined
  return new WaggleError('E_ENGINE', `${what}: ${text.split('\n')[0] ?? ''}`, {
    cause,
    ...(trouble ? { data: { trouble } } : {}),
  })
}

export function troubleOf(error: unknown): Trouble | undefined {
  if (!(error instanceof WaggleError) || error.code !== 'E_ENGINE') return undefined
  return (error.data as { trouble?: Trouble } | undefined)?.trouble
}
