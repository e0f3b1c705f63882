// Reads model weights in the safetensors format: one file, or several with `model.safetensors.index.json`. Knows the
// format but no architecture. Headers are checked completely before memory is allocated for tensors, and each tensor is
// read straight into the array that will hold it, so the peak memory is the weights plus one small buffer. Pickled
// checkpoints are never read, because a pickle can run code.

import { basename, join } from 'node:path'
import type { Disk, DiskFile } from '../../store/disk.ts'
import { DTYPES, isFloat, type TensorData, toFloat32 } from './dtypes.ts'
import { attempt, noWeights, openInside, readIndex, WEIGHTS_FILE, WEIGHTS_INDEX_FILE } from './folder.ts'
import { type Header, headerLength, parseHeader, type TensorInfo } from './header.ts'
import { modelError, quote } from './json.ts'

export { DTYPES, type Dtype, type TensorData } from './dtypes.ts'
export { WEIGHTS_FILE, WEIGHTS_INDEX_FILE } from './folder.ts'
export type { TensorInfo } from './header.ts'
export { encodeSafetensors, type TensorSource } from './write.ts'

/** Bytes per read when values are converted. */
const PIECE_BYTES = 1024 * 1024

export interface Weights {
  /** Every tensor's entry in the header, by name. */
  readonly tensors: ReadonlyMap<string, TensorInfo>
  readonly metadata: Readonly<Record<string, string>>
  /** The values as stored; F16, BF16 and F8 as raw bits. */
  read(name: string): Promise<TensorData>
  /** The values as F32, whatever float format they have. With `to`, as many as fit into it, from the `at`-th on. */
  readFloat32(name: string, to?: Float32Array, options?: { at?: number }): Promise<Float32Array>
  close(): Promise<void>
}

interface LocatedTensor {
  info: TensorInfo
  file: DiskFile
  where: string
}

/**
 * Opens a `.safetensors` file, or the weights in a folder. Links in a folder may lead to files inside `within`, which
 * is the folder itself by default. (A Hugging Face cache keeps its files next to its snapshots.)
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
      return weights(locate(tensors, file, basename(path)), metadata, close)
    }
    const root = await attempt(path, () => disk.realPath(within ?? path))
    const names = await attempt(path, () => disk.readDirectory(path))
    if (names.includes(WEIGHTS_FILE)) {
      const { tensors, metadata, file } = await open(join(path, WEIGHTS_FILE), root)
      return weights(locate(tensors, file, WEIGHTS_FILE), metadata, close)
    }
    if (!names.includes(WEIGHTS_INDEX_FILE)) throw noWeights(path, names)

    const map = await readIndex(join(path, WEIGHTS_INDEX_FILE), root, disk)
    const placed = new Map<string, LocatedTensor>()
    for (const shard of new Set(map.values())) {
      const { tensors, file } = await open(join(path, shard), root)
      for (const [name, info] of tensors) {
        if (map.get(name) === shard) placed.set(name, { info, file, where: shard })
      }
    }
    for (const [name, shard] of map) {
      if (placed.has(name)) continue
      const problem = `${quote(name)} should be in ${shard} but is not`
      throw modelError(WEIGHTS_INDEX_FILE, problem, 'The index and the shards do not belong together.')
    }
    return weights(placed, {}, close)
  } catch (error) {
    await close()
    throw error
  }
}

function locate(tensors: Map<string, TensorInfo>, file: DiskFile, where: string): Map<string, LocatedTensor> {
  return new Map([...tensors].map(([name, info]) => [name, { info, file, where }] as const))
}

function weights(
  placed: Map<string, LocatedTensor>,
  metadata: Record<string, string>,
  close: () => Promise<void>,
): Weights {
  const find = (name: string): LocatedTensor => {
    const found = placed.get(name)
    if (found) return found
    const hint = 'The model is of another architecture, or a part of it was not saved.'
    throw modelError('weights', `there is no tensor ${quote(name)}`, hint)
  }
  const fill = async ({ info, file, where }: LocatedTensor, into: TensorData, offset: number) => {
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
    const got = await attempt(where, () => file.read(bytes, info.start + offset))
    if (got === bytes.length) return
    throw modelError(
      where,
      'the file became shorter while it was read',
      'Load it again when nothing writes to it.',
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
    async readFloat32(name, to, { at: first = 0 } = {}) {
      const found = find(name)
      const { dtype, length } = found.info
      if (!isFloat(dtype)) {
        const hint = 'Weights must be F32, BF16, F16 or F64; quantized models are not supported.'
        throw modelError(found.where, `tensor ${quote(name)} holds ${dtype}, not weights`, hint)
      }
      if (to && first + to.length > length)
        throw new RangeError(`${name} has ${length} values, not ${first + to.length}`)
      const into = to ?? new Float32Array(length)
      if (dtype === 'F32') {
        await fill(found, into, first * 4)
        return into
      }
      const { size, make } = DTYPES[dtype]
      const piece = make(Math.min(into.length, PIECE_BYTES / size))
      for (let at = 0; at < into.length; at += piece.length) {
        const part = piece.subarray(0, Math.min(piece.length, into.length - at)) as TensorData
        await fill(found, part, (first + at) * size)
        toFloat32(dtype, part, into, at)
      }
      return into
    },
    close,
  }
}

async function readHeader(file: DiskFile, size: number, where: string): Promise<Header> {
  const first = new Uint8Array(8)
  await attempt(where, () => file.read(first, 0))
  const header = new Uint8Array(headerLength(first, size, where))
  const got = await attempt(where, () => file.read(header, 8))
  return parseHeader(header.subarray(0, got), size, where)
}
