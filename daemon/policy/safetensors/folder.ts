// Finds the weight files in a model folder. Opens only regular files whose resolved path stays inside the folder,
// because a downloaded index is untrusted and names files.

import { basename, dirname, sep } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { type Disk, explainErrno } from '../../store/disk.ts'
import { MAX_HEADER_BYTES } from './header.ts'
import { count, modelError, parseJson, quote, stringMap } from './json.ts'

export const WEIGHTS_FILE = 'model.safetensors'
export const WEIGHTS_INDEX_FILE = 'model.safetensors.index.json'
/**
 * A shard's name must be a plain file name: no path, no hidden file, nothing that could be mistaken for a device or
 * misread by a shell.
 */
const SHARD_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}\.safetensors$/

/** Opens a file for reading if its resolved path lies in `root`. */
export async function openInside(path: string, root: string | undefined, disk: Disk) {
  return await attempt(basename(path), async () => {
    const real = await disk.realPath(path)
    if (
      root !== undefined &&
      dirname(real) !== root &&
      !real.startsWith(root.endsWith(sep) ? root : root + sep)
    ) {
      const hint = 'A model folder must not refer to files elsewhere. Copy the file into the folder.'
      throw modelError(basename(path), 'it is a link that leads out of the model folder', hint)
    }
    const facts = await disk.stat(real)
    if (facts?.kind !== 'file') {
      const hint = 'Give the folder of a model, or a .safetensors file.'
      throw modelError(basename(path), 'it is not a regular file', hint)
    }
    return { file: await disk.open(real, 'read'), size: facts.size }
  })
}

/** The index: a shard's file name for each tensor name. */
export async function readIndex(path: string, root: string, disk: Disk): Promise<Map<string, string>> {
  const where = basename(path)
  const { file, size } = await openInside(path, root, disk)
  try {
    if (size > MAX_HEADER_BYTES) {
      const hint = `At most ${count(MAX_HEADER_BYTES)} are allowed.`
      throw modelError(where, `the index is ${count(size)} long`, hint)
    }
    const bytes = new Uint8Array(size)
    await attempt(where, () => file.read(bytes, 0))
    const map = stringMap(parseJson(bytes, where, 'index').weight_map, where)
    for (const shard of Object.values(map)) {
      if (SHARD_NAME.test(shard)) continue
      const hint = 'Names must be plain *.safetensors file names in the same folder. Do not trust this model.'
      throw modelError(where, `${quote(shard)} is not allowed as the name of a shard`, hint)
    }
    return new Map(Object.entries(map))
  } finally {
    await file.close()
  }
}

export function noWeights(path: string, names: string[]): WaggleError {
  const pickled = names.filter((name) => /\.(bin|pt|pth|ckpt)$/.test(name))
  const hint = pickled.length
    ? `${quote(pickled[0]!)} is a pickle, which can run code when loaded. Convert it to safetensors first.`
    : 'Give a folder in Hugging Face layout: config.json, tokenizer.json and model.safetensors.'
  return modelError(path, `there is no ${WEIGHTS_FILE} in this folder`, hint)
}

/** Runs a disk operation and turns its failure into a user-facing error. */
export async function attempt<Result>(where: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof WaggleError) throw error
    const hint = 'Check the path, its permissions and the disk.'
    throw modelError(where, `cannot be read: ${explainErrno(error)}`, hint, error)
  }
}
