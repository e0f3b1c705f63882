// Writes the adapter of a policy version to where a back end reads it: one GGUF file, or a folder in PEFT's layout.

import { join } from 'node:path'
import type { DecoderSpec } from '../engine/decoder.ts'
import type { Weights } from '../engine/weights.ts'
import { writeAdapter } from '../policy/export/write-model.ts'
import { writeGgufAdapter } from '../policy/gguf/export.ts'
import type { StoredModel } from '../policy/model.ts'
import { remove } from '../store/atomic.ts'
import type { Disk } from '../store/disk.ts'
import type { AdapterFile, BackEnd } from './back-end.ts'

export interface AdapterFiles {
  /** `weights` are the adapter's tensors. */
  write(name: string, weights: Weights): Promise<AdapterFile>
  remove(file: AdapterFile): Promise<void>
}

interface AdapterFilesOptions {
  /** Created if it does not exist. Its parent must exist. */
  folder: string
  format: BackEnd['format']
  model: StoredModel
  /** The model's spec with the adapter. */
  spec: DecoderSpec
}

export function createAdapterFiles(
  { folder, format, model, spec }: AdapterFilesOptions,
  { disk }: { disk: Disk },
): AdapterFiles {
  const makeFolder = async (path: string): Promise<void> => {
    if (!(await disk.stat(path))) await disk.makeDirectory(path)
  }
  return {
    async write(name, weights) {
      await makeFolder(folder)
      const trained = { ...model, spec, weights }
      const path = join(folder, format === 'gguf' ? `${name}.gguf` : name)
      if (format === 'gguf') await writeGgufAdapter(trained, { target: path, type: 'F32' }, { disk })
      else {
        await makeFolder(path)
        const base = { name: model.directory }
        await writeAdapter(trained, { target: path, dtype: 'f32', card: '', base }, { disk })
      }
      return { path, name }
    },
    remove: async ({ path }) => await remove(path, { disk }),
  }
}
