// Where a model is loaded from: a folder in Hugging Face's layout, or one GGUF file. Both provide the same parts.

import { WaggleError } from '../../../protocol/errors.ts'
import { type Disk, errnoOf } from '../../store/disk.ts'
import { openGgufModel } from '../gguf/model.ts'
import { attempt } from '../safetensors/folder.ts'
import { openWeights, type Weights } from '../safetensors/read.ts'
import {
  copyableFiles,
  type ModelSource,
  readConfig,
  readModelFiles,
  rootOf,
  type WeightSource,
} from './model-files.ts'

/** `path` is a folder or a GGUF file. Throws E_MODEL if nothing is there. */
export async function modelSource(path: string, { disk }: { disk: Disk }): Promise<ModelSource> {
  const facts = await attempt(path, async () => disk.stat(await disk.realPath(path))).catch((error) => {
    // The loader of folders reports the error and explains what a model is.
    if (errnoOf(error.cause) === 'ENOENT') return undefined
    throw error
  })
  if (!facts && path.endsWith('.gguf'))
    throw new WaggleError('E_MODEL', `${path} does not exist`, {
      hint: 'In a config file, a relative path starts at the folder of the file.',
    })
  return facts?.kind === 'file' ? openGgufModel(path, { disk }) : folderSource(path, disk)
}

function folderSource(directory: string, disk: Disk): ModelSource {
  return {
    config: () => readConfig(directory, disk),
    files: () => readModelFiles(directory, disk),
    weights: async () =>
      weightsOf(await openWeights({ path: directory, within: await rootOf(directory, disk) }, { disk })),
    copies: () => copyableFiles(directory, disk),
  }
}

function weightsOf(file: Weights): WeightSource {
  const tensors = [...file.tensors].map(([name, { shape, dtype }]) => {
    return [name, { shape, isHalf: dtype === 'F16' || dtype === 'BF16' }] as const
  })
  return {
    tensors: new Map(tensors),
    async readFloat32(name, to, { at, heed } = {}) {
      const values = await file.readFloat32(name, to, at === undefined ? {} : { at })
      heed?.(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
      return values
    },
    close: file.close,
  }
}
