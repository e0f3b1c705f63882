// LoRA adapters in PEFT's files (adapter_config.json, adapter_model.safetensors), which most tools can load. PEFT puts
// `base_model.model.` before each tensor's name; otherwise names, shapes and the scale alpha / rank are the same as
// here.

import { type AdapterSpec, adapterShapes, type DecoderSpec } from '../../engine/decoder.ts'
import { asFloats, type BaseWeights } from '../../engine/stored/stored.ts'
import type { JsonObject } from '../files/model-files.ts'
import type { Dtype, TensorSource } from '../safetensors/read.ts'

export const ADAPTER_WEIGHTS_FILE = 'adapter_model.safetensors'
const PREFIX = 'base_model.model.'

export interface AdapterBase {
  /** A name on the hub, or a folder. */
  name: string
  revision?: string | undefined
}

export function adapterConfig({ rank, alpha, targets }: AdapterSpec, base: AdapterBase): JsonObject {
  return {
    base_model_name_or_path: base.name,
    revision: base.revision ?? null,
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    target_modules: [...targets],
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    use_rslora: false,
    use_dora: false,
    layers_to_transform: null,
    modules_to_save: null,
    rank_pattern: {},
    alpha_pattern: {},
  }
}

export function adapterTensors(
  spec: DecoderSpec,
  weights: BaseWeights,
  dtype: Dtype,
): Record<string, TensorSource> {
  return Object.fromEntries(
    [...adapterShapes(spec)].map(([name, shape]) => [
      PREFIX + name,
      { shape, dtype, data: asFloats(weights[name]!) },
    ]),
  )
}
