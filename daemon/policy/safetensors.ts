// Reads model weights in the safetensors format: one file, or several with `model.safetensors.index.json`. A format
// and nothing more: it knows no architecture. Headers are checked whole before anything is allocated for tensors, and
// a tensor is read straight into the array that will hold it, so memory peaks at the weights plus one small buffer.
// Pickled checkpoints are never read, since a pickle can run code.

import { basename, dirname, join, sep } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { type Disk, type DiskFile, explainErrno } from '../store/disk.ts'
import { DTYPES, isFloat, type TensorData, toFloat32 } from './safetensors-dtypes.ts'
import * as format from './safetensors-header.ts'

export { DTYPES, type Dtype, type TensorData } from './safetensors-dtypes.ts'
export type { TensorInfo } from './safetensors-header.ts'
export { encodeSafetensors, type TensorSource } from './safetensors-write.ts'

export const WEIGHTS_FILE = 'model.safetensors'
export const WEIGHTS_INDEX_FILE = 'model.safetensors.index.json'
/** A shard's name is a plain file name: no path, no hidden file, nothing that a shell or a device could mistake. */
const SHARD_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}\.safetensors$/
/** What is read at once where values are converted. */
const PIECE_BYTES = 1024 * 1024

export interface Weights {
  /** Every tensor's facts, by name. */
  readonly tensors: ReadonlyMap<string, format.TensorInfo>
  readonly metadata: Readonly<Record<string, string>>
  /** The values as they are in the file; F16, BF16 and F8 as raw bits. */
  read(name: string): Promise<TensorData>
  /** The values as F32, whichever float format they have; into `to`, which must have their length, if it is given. */
  readFloat32(name: string, to?: Float32Array): Promise<Float32Array>
  close(): Promise<void>
}

interface Placed {
  info: format.TensorInfo
  file: DiskFile
  where: string
}

/**
 * Opens a `.safetensors` file, or the weights in a folder. Links in a folder may lead to files inside `within`, which
 * is the folder itself unless stated (a Hugging Face cache keeps its files beside its snapshots).
 */
export async function openWeights(
  { path, within }: { path: string; within?: string },
  { disk }: { disk: Disk },
): Promise<Weights> {
  const files: DiskFile[] = []
  const close = async () => {
    await Promise.all(files.splice(0).map((file) => file.close()))
  }
  const open = async (file: string, root?: string) => {
    const opened = await openInside(file, root, disk)
    files.push(opened.file)
    return { ...opened, ...(await readHeader(opened.file, opened.size, basename(file))) }
  }
  try {
    const facts = await attempt(path, async () => disk.stat(await disk.realPath(path)))
    if (facts?.kind !== 'directory') {
      const { tensors, metadata, file } = await open(path, undefined)
      return weights(place(tensors, file, basename(path)), metadata, close)
    }
    const root = await attempt(path, () => disk.realPath(within ?? path))
    const names = await attempt(path, () => disk.readDirectory(path))
    if (names.includes(WEIGHTS_FILE)) {
      const { tensors, metadata, file } = await open(join(path, WEIGHTS_FILE), root)
      return weights(place(tensors, file, WEIGHTS_FILE), metadata, close)
    }
    if (!names.includes(WEIGHTS_INDEX_FILE)) throw noWeights(path, names)

    const map = await readIndex(join(path, WEIGHTS_INDEX_FILE), root, disk)
    const placed = new Map<string, Placed>()
    for (const shard of new Set(map.values())) {
      const { tensors, file } = await open(join(path, shard), root)
      for (const [name, info] of tensors) {
        if (map.get(name) === shard) placed.set(name, { info, file, where: shard })
      }
    }
    for (const [name, shard] of map) {
      if (placed.has(name)) continue
      const problem = `${format.quote(name)} should be in ${shard} but is not`
      throw format.modelError(WEIGHTS_INDEX_FILE, problem, 'The index and the shards do not belong together.')
    }
    return weights(placed, {}, close)
  } catch (error) {
    await close()
    throw error
  }
}

function place(tensors: Map<string, format.TensorInfo>, file: DiskFile, where: string): Map<string, Placed> {
  return new Map([...tensors].map(([name, info]) => [name, { info, file, where }] as const))
}

function weights(
  placed: Map<string, Placed>,
  metadata: Record<string, string>,
  close: () => Promise<void>,
): Weights {
  const find = (name: string): Placed => {
    const found = placed.get(name)
    if (found) return found
    const hint = 'The model is of another architecture, or a part of it was not saved.'
    throw format.modelError('weights', `there is no tensor ${format.quote(name)}`, hint)
  }
  const fill = async ({ info, file, where }: Placed, into: TensorData, offset: number) => {
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
    const got = await attempt(where, () => file.read(bytes, info.start + offset))
    if (got === bytes.length) return
    throw format.modelError(
      where,
      'the file became shorter while it was read',
      'Load it again when it is at rest.',
    )
  }
  return {
    tensors: new Map([...placed].map(([name, { info }]) => [name, info] as const)),
    metadata,
    async read(name) {
      const found = find(name)
      const data = DTYPES[found.info.dtype].make(found.info.length)
      await fill(found, data, 0)
      return data
    },
    async readFloat32(name, to) {
      const found = find(name)
      const { dtype, length } = found.info
      if (!isFloat(dtype)) {
        const hint = 'Weights must be F32, BF16, F16 or F64; quantized models are not supported.'
        throw format.modelError(found.where, `tensor ${format.quote(name)} holds ${dtype}, not weights`, hint)
      }
      if (to && to.length !== length) throw new RangeError(`${name} has ${length} values, not ${to.length}`)
      const into = to ?? new Float32Array(length)
      if (dtype === 'F32') {
        await fill(found, into, 0)
        return into
      }
      const { size, make } = DTYPES[dtype]
      const piece = make(Math.min(length, PIECE_BYTES / size))
      for (let at = 0; at < length; at += piece.length) {
        const part = piece.subarray(0, Math.min(piece.length, length - at)) as TensorData
        await fill(found, part, at * size)
        toFloat32(dtype, part, into, at)
      }
      return into
    },
    close,
  }
}

/** Opens a file for reading whose real path lies in `root`, links resolved. */
async function openInside(path: string, root: string | undefined, disk: Disk) {
  return await attempt(basename(path), async () => {
    const real = await disk.realPath(path)
    if (
      root !== undefined &&
      dirname(real) !== root &&
      !real.startsWith(root.endsWith(sep) ? root : root + sep)
    ) {
      const hint = 'A model folder must not refer to files elsewhere. Copy the file into the folder.'
      throw format.modelError(basename(path), 'it is a link that leads out of the model folder', hint)
    }
    const facts = await disk.stat(real)
    if (facts?.kind !== 'file') {
      const hint = 'Give the folder of a model, or a .safetensors file.'
      throw format.modelError(basename(path), 'it is not a regular file', hint)
    }
    return { file: await disk.open(real, 'read'), size: facts.size }
  })
}

async function readHeader(file: DiskFile, size: number, where: string): Promise<format.Header> {
  const first = new Uint8Array(8)
  await attempt(where, () => file.read(first, 0))
  const header = new Uint8Array(format.headerLength(first, size, where))
  const got = await attempt(where, () => file.read(header, 8))
  return format.parseHeader(header.subarray(0, got), size, where)
}

/** tensor name -> shard's file name. */
async function readIndex(path: string, root: string, disk: Disk): Promise<Map<string, string>> {
  const where = basename(path)
  const { file, size } = await openInside(path, root, disk)
  try {
    if (size > format.MAX_HEADER_BYTES) {
      const hint = `At most ${format.count(format.MAX_HEADER_BYTES)} are allowed.`
      throw format.modelError(where, `the index is ${format.count(size)} long`, hint)
    }
    const bytes = new Uint8Array(size)
    await attempt(where, () => file.read(bytes, 0))
    const map = format.stringMap(format.parseJson(bytes, where).weight_map, where)
    for (const shard of Object.values(map)) {
      if (SHARD_NAME.test(shard)) continue
      const hint = 'Names must be plain *.safetensors file names in the same folder. Do not trust this model.'
      throw format.modelError(where, `${format.quote(shard)} is not allowed as the name of a shard`, hint)
    }
    return new Map(Object.entries(map))
  } finally {
    await file.close()
  }
}

function noWeights(path: string, names: string[]): WaggleError {
  const pickled = names.filter((name) => /\.(bin|pt|pth|ckpt)$/.test(name))
  const hint = pickled.length
    ? `${format.quote(pickled[0]!)} is a pickle, which can run code when loaded. Convert it to safetensors first.`
    : 'Give a folder in Hugging Face layout: config.json, tokenizer.json and model.safetensors.'
  return format.modelError(path, `there is no ${WEIGHTS_FILE} in this folder`, hint)
}

/** Runs a disk operation; its failure becomes the one error that a person sees. */
async function attempt<Result>(where: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof WaggleError) throw error
    const hint = 'Check the path, its permissions and the disk.'
    throw format.modelError(where, `cannot be read: ${explainErrno(error)}`, hint, error)
  }
}
