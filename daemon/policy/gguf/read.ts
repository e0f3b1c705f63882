// Opens a GGUF file: its header, and its tensors as F32. Knows no architecture. A tensor is read in pieces and turned
// into F32 straight into the array that will hold it.

import { basename } from 'node:path'
import type { Disk, DiskFile } from '../../store/disk.ts'
import { attempt, openInside } from '../safetensors/folder.ts'
import { count, modelError, quote } from '../safetensors/json.ts'
import { NeedsMore } from './bytes.ts'
import { type Header, type Metadata, parseHeader, type TensorPlace } from './header.ts'
import { TENSOR_TYPES } from './types.ts'

export type { Metadata, MetadataValue, TensorPlace } from './header.ts'

/** About this many bytes per read; small enough to stay in a processor's cache. */
const PIECE_BYTES = 1024 * 1024
const FIRST_BYTES = 4 * 1024 * 1024
/** A vocabulary of 250,000 tokens takes 10 MB. */
const MOST_HEADER_BYTES = 256 * 1024 * 1024

export interface Gguf {
  /** The file's name, for messages. */
  readonly where: string
  readonly metadata: Metadata
  /** Each metadata entry as its bytes stand in the file. */
  readonly encoded: ReadonlyMap<string, Uint8Array>
  readonly tensors: ReadonlyMap<string, TensorPlace>
  /** The values as F32, into `to`, which must have their length, if it is given. */
  readFloat32(name: string, to?: Float32Array): Promise<Float32Array>
  close(): Promise<void>
}

export async function openGguf({ path }: { path: string }, { disk }: { disk: Disk }): Promise<Gguf> {
  const where = basename(path)
  const { file, size } = await openInside(path, undefined, disk)
  try {
    const { metadata, encoded, tensors } = await readHeader(file, size, where)
    return {
      where,
      metadata,
      encoded,
      tensors,
      async readFloat32(name, to) {
        const place = tensors.get(name)
        if (!place) {
          const hint = 'The model is of another architecture, or a part of it was not saved.'
          throw modelError(where, `there is no tensor ${quote(name)}`, hint)
        }
        if (to && to.length !== place.length)
          throw new RangeError(`${name} has ${place.length} values, not ${to.length}`)
        return await readTensor(file, place, to ?? new Float32Array(place.length), where)
      },
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Reads ever more of the start of the file until the whole header is there. */
async function readHeader(file: DiskFile, fileBytes: number, where: string): Promise<Header> {
  for (let wanted = FIRST_BYTES; ; wanted *= 4) {
    const bytes = Buffer.alloc(Math.min(wanted, fileBytes, MOST_HEADER_BYTES))
    await fill(file, bytes, 0, where)
    try {
      return parseHeader({ bytes, fileBytes, where })
    } catch (error) {
      if (!(error instanceof NeedsMore)) throw error
      if (wanted < MOST_HEADER_BYTES) continue
      const problem = `the header is longer than ${count(MOST_HEADER_BYTES)}`
      throw modelError(where, problem, 'No published model needs as much. Do not trust this one.', error)
    }
  }
}

async function readTensor(
  file: DiskFile,
  { type, length, start, bytes }: TensorPlace,
  to: Float32Array,
  where: string,
): Promise<Float32Array> {
  const { values, bytes: each, dequantize } = TENSOR_TYPES[type]
  const atOnce = Math.max(1, Math.floor(PIECE_BYTES / each))
  const piece = new Uint8Array(Math.min(bytes, atOnce * each))
  const blocks = length / values
  for (let block = 0; block < blocks; block += atOnce) {
    const some = Math.min(atOnce, blocks - block)
    await fill(file, piece.subarray(0, some * each), start + block * each, where)
    dequantize(piece, some, to, block * values)
  }
  return to
}

async function fill(file: DiskFile, into: Uint8Array, position: number, where: string): Promise<void> {
  if ((await attempt(where, () => file.read(into, position))) === into.length) return
  const hint = 'Load it again when nothing writes to it.'
  throw modelError(where, 'the file became shorter while it was read', hint)
}
