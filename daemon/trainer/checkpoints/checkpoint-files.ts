// The files of a checkpoint: trained weights, optimizer moments and plugin states.

import { decode } from 'cborg'
import { WaggleError } from '../../../protocol/errors.ts'
import { type DecoderSpec, trainableShapes } from '../../engine/decoder.ts'
import type { LossScale, OptimizerState } from '../../engine/engine.ts'
import type { Weights } from '../../engine/weights.ts'
import type { SavedState } from '../../host/host.ts'
import { encodeSafetensors, openWeights, type TensorSource } from '../../policy/safetensors/read.ts'
import type { Checkpoint } from '../../store/checkpoints/checkpoints.ts'
import type { Disk } from '../../store/disk.ts'

/** The optimizer state that is not in tensors. */
export interface OptimizerCounts {
  steps: number
  /** Only with float16 gradients. */
  lossScale?: LossScale | undefined
}

export interface Trained {
  weights: Weights
  optimizer: OptimizerState
}

/** Plugin states; absent if no plugin has one. */
export const PLUGINS = 'plugins.cbor'

const WEIGHTS = 'model.safetensors'
const MOMENTS = 'optimizer.safetensors'
const fileOf = (role: string | undefined, name: string): string =>
  role === undefined ? name : `role-${role}-${name}`

/** File contents by name. Throws if a weight is not finite. */
export function trainedFiles(spec: DecoderSpec, { weights, optimizer }: Trained, role?: string) {
  const shapes = trainableShapes(spec)
  const tensors = (prefix: string, values: Weights): Record<string, TensorSource> =>
    Object.fromEntries([...shapes].map(([name, shape]) => [prefix + name, { shape, data: values[name]! }]))
  return {
    [fileOf(role, WEIGHTS)]: encodeSafetensors({
      tensors: tensors('', weights),
      metadata: { format: 'pt' },
      finite: true,
    }).content,
    [fileOf(role, MOMENTS)]: encodeSafetensors({
      tensors: { ...tensors('first.', optimizer.first), ...tensors('second.', optimizer.second) },
      finite: true,
    }).content,
  }
}

/** The trained tensors alone. Throws E_CHECKPOINT if they are not of this model's shapes. */
export async function readWeights(
  checkpoint: Pick<Checkpoint, 'path'>,
  spec: DecoderSpec,
  disk: Disk,
): Promise<Weights> {
  return (await readAll(checkpoint.path(WEIGHTS), [''], spec, disk))['']!
}

export async function readTrained(
  checkpoint: Checkpoint,
  { spec, counts, role }: { spec: DecoderSpec; counts: OptimizerCounts; role?: string },
  disk: Disk,
): Promise<Trained> {
  const weights = await readAll(checkpoint.path(fileOf(role, WEIGHTS)), [''], spec, disk)
  const moments = await readAll(checkpoint.path(fileOf(role, MOMENTS)), ['first.', 'second.'], spec, disk)
  const { steps, lossScale } = counts
  return {
    weights: weights['']!,
    optimizer: {
      steps,
      first: moments['first.']!,
      second: moments['second.']!,
      ...(lossScale ? { lossScale } : {}),
    },
  }
}

async function readAll(
  path: string,
  prefixes: readonly string[],
  spec: DecoderSpec,
  disk: Disk,
): Promise<Record<string, Weights>> {
  const source = await openWeights({ path }, { disk })
  try {
    const all: Record<string, Weights> = {}
    for (const prefix of prefixes) {
      const weights: Weights = {}
      for (const [name, shape] of trainableShapes(spec)) {
        const saved = source.tensors.get(prefix + name)?.shape
        if (saved && saved.join() !== shape.join())
          throw new WaggleError(
            'E_CHECKPOINT',
            `"${name}" has shape [${saved}] in the checkpoint and [${shape}] in the model`,
            {
              hint: 'The checkpoint belongs to another model.',
            },
          )
        weights[name] = await source.readFloat32(prefix + name)
      }
      all[prefix] = weights
    }
    return all
  } finally {
    await source.close()
  }
}

export async function readPlugins(checkpoint: Checkpoint, disk: Disk): Promise<SavedState[]> {
  if (!(PLUGINS in checkpoint.manifest.files)) return []
  const records = decode(await readFile(checkpoint, PLUGINS, disk)) as [string, number, Uint8Array][]
  return records.map(([plugin, version, bytes]) => ({ plugin, version, bytes }))
}

/** Reads a whole file. Its size and hash have already been verified against the manifest. */
export async function readFile(checkpoint: Checkpoint, name: string, disk: Disk): Promise<Uint8Array> {
  const file = await disk.open(checkpoint.path(name), 'read')
  try {
    const bytes = new Uint8Array(checkpoint.manifest.files[name]!.bytes)
    await file.read(bytes, 0)
    return bytes
  } finally {
    await file.close()
  }
}
