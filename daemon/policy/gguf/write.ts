// Writes a GGUF file (version 3) as a stream of pieces whose total length is known beforehand. Holds at most one tensor
// at a time.

import { WaggleError } from '../../../protocol/errors.ts'
import { allFinite } from '../safetensors/dtypes.ts'
import { quote } from '../safetensors/json.ts'
import type { Encoded } from '../safetensors/write.ts'
import { QUANTIZE, type WrittenType } from './blocks/quantize.ts'
import { TENSOR_TYPES } from './types.ts'

export type Entry =
  | { kind: 'u32' | 'f32'; value: number }
  | { kind: 'bool'; value: boolean }
  | { kind: 'text'; value: string }
  | { kind: 'texts'; value: readonly string[] }
  | { kind: 'i32s' | 'f32s'; value: ArrayLike<number> }

export interface GgufTensor {
  /** Rows first. */
  shape: readonly number[]
  type: WrittenType
  /** Called when the tensor is written. */
  data: () => Float32Array | Promise<Float32Array>
}

interface GgufContent {
  /** Encoded metadata entries by key: made by `encodeEntry`, or taken from another file. */
  metadata: ReadonlyMap<string, Uint8Array>
  tensors: ReadonlyMap<string, GgufTensor>
}

const ALIGNMENT = 32
/** Values per piece: a whole number of blocks of every type, and few enough to let the event loop run in between. */
const PIECE = 1024 * 1024

const CODE = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, array: 9 } as const

/** Key, type and value, encoded as in the file. */
export function encodeEntry(key: string, entry: Entry): Uint8Array {
  const { kind, value } = entry
  switch (kind) {
    case 'bool':
      return Buffer.concat([text(key), u32(CODE.bool), Buffer.from([value ? 1 : 0])])
    case 'u32':
      return Buffer.concat([text(key), u32(CODE.u32), u32(value)])
    case 'f32':
      return Buffer.concat([text(key), u32(CODE.f32), packed(Float32Array.of(value))])
    case 'text':
      return Buffer.concat([text(key), u32(CODE.text), text(value)])
    case 'texts':
      return Buffer.concat([text(key), array(CODE.text, value.length), ...value.map(text)])
    case 'i32s':
      return Buffer.concat([text(key), array(CODE.i32, value.length), packed(Int32Array.from(value))])
    case 'f32s':
      return Buffer.concat([text(key), array(CODE.f32, value.length), packed(Float32Array.from(value))])
  }
}

export function encodeGguf({ metadata, tensors }: GgufContent): Encoded {
  const head = [Buffer.from('GGUF'), u32(3), u64(tensors.size), u64(metadata.size), ...metadata.values()]
  let end = 0
  for (const [name, { shape, type }] of tensors) {
    const dimensions = [...shape].reverse().map(u64)
    head.push(text(name), u32(shape.length), ...dimensions, u32(TENSOR_TYPES[type].code), u64(end))
    end += padded(bytesOf(shape, type))
  }
  const start = Buffer.concat(head)
  const header = Buffer.concat([start], padded(start.length))
  async function* content() {
    yield header
    for (const [name, tensor] of tensors) yield* values(name, tensor)
  }
  return { bytes: header.length + end, content: content() }
}

async function* values(name: string, { shape, type, data }: GgufTensor): AsyncGenerator<Uint8Array> {
  const from = await data()
  if (from.length !== lengthOf(shape)) {
    throw new RangeError(`${name} has ${from.length} values, its shape [${shape}] has ${lengthOf(shape)}`)
  }
  for (let at = 0; at < from.length; at += PIECE) {
    const piece = from.subarray(at, at + PIECE)
    if (!allFinite(piece)) {
      throw new WaggleError('E_CHECKPOINT', `tensor ${quote(name)} holds a number that is infinite or NaN`, {
        hint: 'It was not written. Training has diverged: lower the learning rate.',
        data: { tensor: name },
      })
    }
    yield QUANTIZE[type](piece)
  }
  const bytes = bytesOf(shape, type)
  if (padded(bytes) > bytes) yield new Uint8Array(padded(bytes) - bytes)
}

const lengthOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1)
const bytesOf = (shape: readonly number[], type: WrittenType): number =>
  (lengthOf(shape) / TENSOR_TYPES[type].values) * TENSOR_TYPES[type].bytes
const padded = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8')
  return Buffer.concat([u64(bytes.length), bytes])
}

const array = (code: number, length: number): Buffer =>
  Buffer.concat([u32(CODE.array), u32(code), u64(length)])

const packed = ({ buffer, byteOffset, byteLength }: Float32Array | Int32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)
