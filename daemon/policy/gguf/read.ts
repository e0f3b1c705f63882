// Opens a GGUF file: reads its header, and its tensors as F32 or as engines store them. Knows no architecture. A tensor
// is read in pieces and converted straight into the array that will hold it.

import { basename } from 'node:path'
import type { Blocks } from '../../engine/stored/stored.ts'
import type { Disk, DiskFile } from '../../store/disk.ts'
import { toFloat32 } from '../safetensors/dtypes.ts'
import { attempt, openInside } from '../safetensors/folder.ts'
import { count, modelError, quote } from '../safetensors/json.ts'
import { blocksRoom, partOf, shiftMinimums, toFloats, unpackedRoom } from './blocks/unpacked.ts'
import { NeedsMore } from './bytes.ts'
import { type Header, type Metadata, parseHeader, type TensorLocation } from './header.ts'
import { TENSOR_TYPES, type TensorType } from './types.ts'

export type { Metadata, MetadataValue, TensorLocation as TensorPlace } from './header.ts'

/** About this many bytes per read: few enough to stay in a processor's cache along with the result. */
const PIECE_BYTES = 256 * 1024
const FIRST_BYTES = 4 * 1024 * 1024
/** A vocabulary of 250,000 tokens takes 10 MB. */
const MAX_HEADER_BYTES = 256 * 1024 * 1024

export interface ReadOptions {
  /** Index of the first value; 0 if left out. */
  at?: number
  heed?: ((bytes: Uint8Array) => void) | undefined
}

export interface Gguf {
  /** The file's name, for messages. */
  readonly where: string
  readonly metadata: Metadata
  /** Each metadata entry exactly as it is in the file. */
  readonly encoded: ReadonlyMap<string, Uint8Array>
  readonly tensors: ReadonlyMap<string, TensorLocation>
  /**
   * The values as F32. With `to`, only as many as fit into it, starting with the `at`-th; both must be whole blocks.
   * `heed` is called with the bytes of the file.
   */
  readFloat32(name: string, to?: Float32Array, options?: ReadOptions): Promise<Float32Array>
  /** A quantized tensor, as engines store it. */
  readBlocks(name: string, options?: Pick<ReadOptions, 'heed'>): Promise<Blocks>
  close(): Promise<void>
}

export async function openGguf({ path }: { path: string }, { disk }: { disk: Disk }): Promise<Gguf> {
  const where = basename(path)
  const { file, size } = await openInside(path, undefined, disk)
  try {
    const { metadata, encoded, tensors } = await readHeader(file, size, where)
    const locationOf = (name: string): TensorLocation => {
      const location = tensors.get(name)
      if (location) return location
      const hint = 'The model is of another architecture, or a part of it was not saved.'
      throw modelError(where, `there is no tensor ${quote(name)}`, hint)
    }
    const spare: Uint8Array[] = []
    const pieces = (location: TensorLocation, at: number, count: number) =>
      piecesOf(file, location, { at, count, where, spare, fileBytes: size })
    return {
      where,
      metadata,
      encoded,
      tensors,
      async readFloat32(name, to, { at = 0, heed } = {}) {
        const location = locationOf(name)
        if (to && at + to.length > location.length)
          throw new RangeError(`${name} has ${location.length} values, not ${at + to.length}`)
        const out = to ?? new Float32Array(location.length)
        const { quantized } = typeOf(location)
        const room = quantized && unpackedRoom(Math.min(pieceValues(location), out.length), quantized)
        for await (const { bytes, count, done } of pieces(location, at, out.length)) {
          heed?.(bytes)
          if (quantized && room) {
            quantized.unpack(bytes, count / typeOf(location).values, room)
            toFloats(room, count, quantized, out, done)
          } else toFloat32(location.type as FloatType, floatsIn(location.type as FloatType, bytes), out, done)
        }
        return out
      },
      async readBlocks(name, { heed } = {}) {
        const location = locationOf(name)
        const { quantized } = typeOf(location)
        if (!quantized) throw new RangeError(`${name} is not quantized`)
        const out = blocksRoom(location.length, quantized)
        for await (const { bytes, count, done } of pieces(location, 0, location.length)) {
          heed?.(bytes)
          quantized.unpack(bytes, count / typeOf(location).values, partOf(out, done))
        }
        shiftMinimums(out, quantized)
        return out
      },
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Reads more and more of the start of the file until it contains the whole header. */
async function readHeader(file: DiskFile, fileBytes: number, where: string): Promise<Header> {
  for (let wanted = FIRST_BYTES; ; wanted *= 4) {
    const bytes = Buffer.alloc(Math.min(wanted, fileBytes, MAX_HEADER_BYTES))
    await fill(file, bytes, 0, where)
    try {
      return parseHeader({ bytes, fileBytes, where })
    } catch (error) {
      if (!(error instanceof NeedsMore)) throw error
      if (wanted < MAX_HEADER_BYTES) continue
      const problem = `the header is longer than ${count(MAX_HEADER_BYTES)}`
      throw modelError(where, problem, 'No published model needs as much. Do not trust this one.', error)
    }
  }
}

type FloatType = 'F32' | 'F16' | 'BF16'

function typeOf({ type }: TensorLocation): TensorType {
  return TENSOR_TYPES[type]
}

/** Number of values in a piece. */
function pieceValues(location: TensorLocation): number {
  const { values, bytes } = typeOf(location)
  return Math.max(1, Math.floor(PIECE_BYTES / bytes)) * values
}

interface PiecesOptions {
  /** The first value. */
  at: number
  /** Values. */
  count: number
  /** The file's name, for messages. */
  where: string
  fileBytes: number
  /** Arrays that no piece is in. */
  spare: Uint8Array[]
}

/**
 * A tensor's bytes, piece by piece, starting with the `at`-th value. One piece is read while another is being used. The
 * pieces' arrays are taken from `spare` and returned there.
 */
async function* piecesOf(
  file: DiskFile,
  location: TensorLocation,
  { at, count, where, spare, fileBytes }: PiecesOptions,
): AsyncGenerator<{ bytes: Uint8Array; count: number; done: number }> {
  const { values, bytes } = typeOf(location)
  const bytesOf = (some: number): number => (some / values) * bytes
  const most = pieceValues(location)
  const arrays = [0, 1].map(() => spare.pop() ?? new Uint8Array(Math.min(PIECE_BYTES, fileBytes)))
  const read = async (done: number): Promise<Uint8Array> => {
    const piece = arrays[(done / most) % 2]!.subarray(0, bytesOf(Math.min(most, count - done)))
    await fill(file, piece, location.start + bytesOf(at + done), where)
    return piece
  }
  let next = read(0)
  try {
    for (let done = 0; done < count; done += most) {
      const piece = await next
      if (done + most < count) next = read(done + most)
      yield { bytes: piece, count: Math.min(most, count - done), done }
    }
  } finally {
    await next.catch(() => {})
    spare.push(...arrays)
  }
}

function floatsIn(type: FloatType, { buffer, byteLength }: Uint8Array): Float32Array | Uint16Array {
  return type === 'F32'
    ? new Float32Array(buffer as ArrayBuffer, 0, byteLength / 4)
    : new Uint16Array(buffer as ArrayBuffer, 0, byteLength / 2)
}

async function fill(file: DiskFile, into: Uint8Array, position: number, where: string): Promise<void> {
  if ((await attempt(where, () => file.read(into, position))) === into.length) return
  const hint = 'Load it again when nothing writes to it.'
  throw modelError(where, 'the file became shorter while it was read', hint)
}
