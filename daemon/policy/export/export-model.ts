// Writes a model, or only its adapter, in the format that the target's name implies: GGUF if it ends in .gguf,
// otherwise a folder in Hugging Face's or PEFT's layout.

import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Disk } from '../../store/disk.ts'
import { writeGgufAdapter, writeGgufModel } from '../gguf/export.ts'
import type { StoredModel } from '../model.ts'
import type { AdapterBase } from './peft.ts'
import { EXPORT_DTYPES, type ExportDtype, writeAdapter, writeMerged } from './write-model.ts'

/** The number types that a GGUF file can be written with. */
const GGUF_DTYPES = { f32: 'F32', f16: 'F16', bf16: 'BF16', q8_0: 'Q8_0' } as const

interface ExportTarget {
  /** Absolute path. Missing folders are created. */
  target: string
  dtype: string
  /** Export only the adapter. */
  bare: boolean
  /** The model that the adapter was trained on. */
  base: AdapterBase
  /** Text of the README.md in a folder. */
  card: string
}

export const isGguf = (target: string): boolean => target.endsWith('.gguf')

/** Names of the number types that are allowed for this target. */
export const dtypesOf = (target: string): string[] =>
  Object.keys(isGguf(target) ? GGUF_DTYPES : EXPORT_DTYPES)

/** Gives the paths of the files that it wrote. */
export async function exportModel(
  model: StoredModel,
  { target, dtype, bare, base, card }: ExportTarget,
  { disk }: { disk: Disk },
): Promise<string[]> {
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
      await (bare ? writeGgufAdapter : writeGgufModel)(model, { target, type, card }, { disk })
      return [target]
    }
    return await (bare ? writeAdapter(model, { ...how, base }, { disk }) : writeMerged(model, how, { disk }))
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    throw new WaggleError('E_HOME', `cannot write ${target}: ${(cause as Error).message}`, {
      hint: 'Check its permissions and the free space on the disk.',
      cause,
    })
  }
}
