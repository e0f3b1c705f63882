// Writes a model, or its adapter alone, in the format that the target's name asks for: GGUF for a name that ends in
// .gguf, otherwise a folder in Hugging Face's or PEFT's layout.

import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Disk } from '../../store/disk.ts'
import { writeGgufAdapter, writeGgufModel } from '../gguf/export.ts'
import type { StoredModel } from '../model.ts'
import type { AdapterBase } from './peft.ts'
import { EXPORT_DTYPES, type ExportDtype, writeAdapter, writeMerged } from './write-model.ts'

/** What numbers may be stored as in a GGUF file. */
export const GGUF_DTYPES = { f32: 'F32', f16: 'F16', bf16: 'BF16', q8_0: 'Q8_0' } as const

export interface ExportTarget {
  /** Absolute path. Folders are made. */
  target: string
  dtype: string
  /** The adapter alone. */
  bare: boolean
  /** The model that the adapter belongs on. */
  base: AdapterBase
  /** README.md of a folder. */
  card: string
}

export const isGguf = (target: string): boolean => target.endsWith('.gguf')

/** Names of the number types that this target may have. */
export const dtypesOf = (target: string): string[] =>
  Object.keys(isGguf(target) ? GGUF_DTYPES : EXPORT_DTYPES)

export async function exportModel(
  model: StoredModel,
  { target, dtype, bare, base, card }: ExportTarget,
  { disk }: { disk: Disk },
): Promise<void> {
  if (!dtypesOf(target).includes(dtype)) {
    throw new WaggleError('E_USAGE', `numbers in ${target} cannot be stored as "${dtype}"`, {
      hint: `Choose ${dtypesOf(target).join(', ')}. Only a GGUF file, whose name ends in .gguf, can be q8_0.`,
    })
  }
  try {
    await mkdir(isGguf(target) ? dirname(target) : target, { recursive: true })
    const how = { target, dtype: dtype as ExportDtype, card }
    if (isGguf(target)) {
      const type = GGUF_DTYPES[dtype as keyof typeof GGUF_DTYPES]
      await (bare ? writeGgufAdapter : writeGgufModel)(model, { target, type }, { disk })
    } else if (bare) await writeAdapter(model, { ...how, base }, { disk })
    else await writeMerged(model, how, { disk })
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    throw new WaggleError('E_HOME', `cannot write ${target}: ${(cause as Error).message}`, {
      hint: 'Check its permissions and the free space on the disk.',
      cause,
    })
  }
}
