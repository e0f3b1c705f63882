// ONNX Runtime's execution providers, as this engine uses them.

import type { InferenceSession } from 'onnxruntime-node'
import { type Lowering, lowerForWebGpu } from '../graph/lowering.ts'

export type Provider = 'cpu' | 'webgpu' | 'cuda' | 'dml' | 'coreml'

interface ProviderFacts {
  executionProviders: InferenceSession.ExecutionProviderConfig[]
  /** Where tensors can stay between runs. Of the devices, only WebGPU supports this in the Node binding of 1.30. */
  heldIn: 'cpu' | 'gpu-buffer'
  lowering?: Lowering
}

export const PROVIDERS: Readonly<Record<Provider, ProviderFacts>> = {
  cpu: { executionProviders: ['cpu'], heldIn: 'cpu' },
  webgpu: { executionProviders: ['webgpu'], heldIn: 'gpu-buffer', lowering: lowerForWebGpu },
  // The runtime runs unsupported operations on the CPU by itself.
  cuda: { executionProviders: ['cuda'], heldIn: 'cpu' },
  dml: { executionProviders: ['dml'], heldIn: 'cpu' },
  coreml: { executionProviders: ['coreml'], heldIn: 'cpu' },
}
