// Where a model comes from: a folder in Hugging Face's layout, or one GGUF file. Both give the same parts.

import { type Disk, errnoOf } from '../store/disk.ts'
import { openGgufModel } from './gguf/model.ts'
import { copyableFiles, type ModelSource, readConfig, readModelFiles, rootOf } from './model-files.ts'
import { attempt } from './safetensors/folder.ts'
import { openWeights } from './safetensors/read.ts'

/** `path`: a folder or a GGUF file. Throws E_MODEL if nothing is there. */
export async function modelSource(path: string, { disk }: { disk: Disk }): Promise<ModelSource> {
  const facts = await disk.realPath(path).then(disk.stat, (error) => {
    if (errnoOf(error) === 'ENOENT') return undefined
    return attempt(path, () => Promise.reject(error))
  })
  return facts?.kind === 'file' ? openGgufModel(path, { disk }) : folderSource(path, disk)
}

function folderSource(directory: string, disk: Disk): ModelSource {
  return {
    config: () => readConfig(directory, disk),
    files: () => readModelFiles(directory, disk),
    weights: async () => openWeights({ path: directory, within: await rootOf(directory, disk) }, { disk }),
    copies: () => copyableFiles(directory, disk),
  }
}
