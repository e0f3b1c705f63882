// LoRA adapters in PEFT's files (adapter_config.json, adapter_model.safetensors), which most tools can load. PEFT puts
// `base_model.model.` before each tensor's name; otherwise names, shapes and the scale alpha / rank are the same as
// here.

import { join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import {
  ADAPTER_TARGETS,
  type AdapterSpec,
  type AdapterTarget,
  adapterShapes,
  type DecoderSpec,
} from '../../engine/decoder.ts'
import { asFloats, type BaseWeights } from '../../engine/stored/stored.ts'
import type { Weights } from '../../engine/weights.ts'
import type { Disk } from '../../store/disk.ts'
import { show } from '../architectures/architecture.ts'
import { type JsonObject, readJson } from '../files/model-files.ts'
import { type Dtype, openWeights, type TensorSource } from '../safetensors/read.ts'

export const ADAPTER_CONFIG_FILE = 'adapter_config.json'
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

/** Reads an adapter, with its tensors under Waggle's names. Throws E_MODEL if it does not fit the model. */
export async function readAdapter(
  { directory, spec }: { directory: string; spec: DecoderSpec },
  { disk }: { disk: Disk },
): Promise<{ adapter: AdapterSpec; weights: Weights }> {
  const adapter = adapterOf(await readJson(directory, ADAPTER_CONFIG_FILE, disk))
  const shapes = adapterShapes({ ...spec, adapter })
  const source = await openWeights({ path: join(directory, ADAPTER_WEIGHTS_FILE) }, { disk })
  try {
    const wanted = new Set([...shapes.keys()].map((name) => PREFIX + name))
    for (const [name, { shape }] of source.tensors) {
      const own = shapes.get(name.slice(PREFIX.length))
      if (!wanted.has(name) || own?.join() !== shape.join()) {
        throw unsupported(
          `${ADAPTER_WEIGHTS_FILE} has ${show(name)} of shape [${shape}], which has no place in the model`,
        )
      }
    }
    const weights: Weights = {}
    for (const name of shapes.keys()) weights[name] = await source.readFloat32(PREFIX + name)
    return { adapter, weights }
  } finally {
    await source.close()
  }
}

/** Refuses settings that would change the computation. */
function adapterOf(config: JsonObject): AdapterSpec {
  const plain: Record<string, readonly unknown[]> = {
    peft_type: ['LORA'],
    bias: ['none'],
    use_dora: [false],
    fan_in_fan_out: [false],
    layers_to_transform: [],
    layers_pattern: [],
    modules_to_save: [],
    trainable_token_indices: [],
    exclude_modules: [],
    target_parameters: [],
  }
  for (const [key, allowed] of Object.entries(plain)) {
    const value = config[key] ?? undefined
    const isEmpty = value === undefined || JSON.stringify(value) === '[]'
    if (!isEmpty && !allowed.includes(value)) throw unsupported(`"${key}" is ${show(value)}`)
  }
  for (const key of ['rank_pattern', 'alpha_pattern']) {
    if (Object.keys((config[key] as object | null) ?? {}).length > 0)
      throw unsupported(`"${key}" is not empty`)
  }
  const { r: rank, lora_alpha: alpha = 8, target_modules: targets, use_rslora: rooted } = config
  if (!Number.isInteger(rank) || (rank as number) < 1 || (rank as number) > 65_536)
    throw unsupported(`"r" is ${show(rank)}`)
  if (typeof alpha !== 'number' || !Number.isFinite(alpha))
    throw unsupported(`"lora_alpha" is ${show(alpha)}`)
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every(isTarget)) {
    throw unsupported(`"target_modules" is ${show(targets)}`)
  }
  // Rank-stabilized LoRA scales by alpha / sqrt(rank).
  return { rank: rank as number, alpha: rooted === true ? alpha * Math.sqrt(rank as number) : alpha, targets }
}

const isTarget = (name: unknown): name is AdapterTarget => ADAPTER_TARGETS.includes(name as AdapterTarget)

function unsupported(problem: string): WaggleError {
  return new WaggleError('E_MODEL', `${ADAPTER_CONFIG_FILE}: ${problem}, which is not supported`, {
    hint: `Supported: plain LoRA on any of ${ADAPTER_TARGETS.join(', ')}, in all layers alike.`,
  })
}
