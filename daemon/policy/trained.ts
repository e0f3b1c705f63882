// The trained model of a run: the base model with a checkpoint's tensors in place of its own.

import { WaggleError } from '../../protocol/errors.ts'
import { ADAPTER_TARGETS, type AdapterSpec, trainableShapes, type Weights } from '../engine/decoder.ts'
import type { Disk } from '../store/disk.ts'
import type { Decoder } from './model.ts'
import { openWeights } from './safetensors/read.ts'

/** A checkpoint's metadata, part of its manifest. */
export interface TrainedMeta {
  /** Absent if all parameters were trained. */
  adapter?: AdapterSpec
  /** The model that the run started from. */
  base?: { name: string; directory: string; commit?: string }
}

/** Reads a manifest's `meta`. Facts that an older version did not write are absent. */
export function trainedMeta(meta: unknown): TrainedMeta {
  const { adapter, base } = (meta ?? {}) as TrainedMeta
  return {
    ...(isAdapter(adapter) ? { adapter } : {}),
    ...(typeof base?.name === 'string' && typeof base.directory === 'string' ? { base } : {}),
  }
}

function isAdapter(value: unknown): value is AdapterSpec {
  const { rank, alpha, targets } = (value ?? {}) as AdapterSpec
  return (
    Number.isInteger(rank) &&
    rank > 0 &&
    Number.isFinite(alpha) &&
    Array.isArray(targets) &&
    targets.every((target) => ADAPTER_TARGETS.includes(target))
  )
}

/** Throws E_CHECKPOINT if the checkpoint belongs to another model. */
export async function applyTrained<Base extends Decoder>(
  {
    base,
    lineage,
    adapter,
    weightsFile,
  }: { base: Base; lineage: string; adapter?: AdapterSpec | undefined; weightsFile: string },
  { disk }: { disk: Disk },
): Promise<Base> {
  if (lineage !== base.digest) {
    throw new WaggleError('E_CHECKPOINT', `the checkpoint continues another model than ${base.directory}`, {
      hint: 'Set model.path, or --model, to the model that the run started from.',
      data: { lineage, model: base.digest },
    })
  }
  const spec = adapter ? { ...base.spec, adapter } : base.spec
  const weights: Weights = adapter ? { ...base.weights } : {}
  const source = await openWeights({ path: weightsFile }, { disk })
  try {
    for (const name of trainableShapes(spec).keys()) weights[name] = await source.readFloat32(name)
  } finally {
    await source.close()
  }
  return { ...base, spec, weights }
}
