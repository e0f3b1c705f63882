// Writes the safetensors format as a stream of pieces whose total length is known beforehand. Holds at most one tensor
// at a time. The caller decides where the pieces go, normally to store/atomic.ts. The same tensors always give the same
// bytes, in whatever order they are passed.

import { WaggleError } from '../../../protocol/errors.ts'
import { allFinite, DTYPES, type Dtype, fromFloat32, type TensorData } from './dtypes.ts'
import { quote } from './json.ts'

/** Bytes per piece: few enough to let the event loop run in between. */
const PIECE_BYTES = 4 * 1024 * 1024

export interface TensorSource {
  shape: readonly number[]
  /** The format in the file; F32 by default. F32 data is rounded to F16 or BF16; other data must match. */
  dtype?: Dtype
  /** The values, or a function that is called for them when they are written. */
  data: TensorData | (() => TensorData | Promise<TensorData>)
}

interface EncodeOptions {
  tensors: Readonly<Record<string, TensorSource>>
  metadata?: Readonly<Record<string, string>>
  /** Refuse to write infinite or NaN values. */
  finite?: boolean
}

export interface Encoded {
  /** Total bytes. */
  bytes: number
  /** Can be read once. */
  content: AsyncIterable<Uint8Array>
}

export function encodeSafetensors({ tensors, metadata, finite = false }: EncodeOptions): Encoded {
  // Larger formats first, as in the reference implementation, so that every tensor is aligned to the size of its
  // values.
  const sizeOf = (source: TensorSource) => DTYPES[source.dtype ?? 'F32'].size
  const order = Object.entries(tensors).sort(
    ([a, x], [b, y]) => sizeOf(y) - sizeOf(x) || (a < b ? -1 : a > b ? 1 : 0),
  )
  const header: Array<[string, unknown]> = metadata ? [['__metadata__', metadata]] : []
  let end = 0
  for (const [name, source] of order) {
    const begin = end
    end += lengthOf(source) * sizeOf(source)
    header.push([name, { dtype: source.dtype ?? 'F32', shape: source.shape, data_offsets: [begin, end] }])
  }
  const json = Buffer.from(JSON.stringify(Object.fromEntries(header)), 'utf8')
  // Trailing spaces are allowed. They make the data start at a multiple of 8.
  const padded = Math.ceil(json.length / 8) * 8
  const head = Buffer.alloc(8 + padded, ' ')
  head.writeBigUInt64LE(BigInt(padded), 0)
  json.copy(head, 8)

  async function* content() {
    yield head
    for (const [name, source] of order) yield* values(name, source, finite)
  }
  return { bytes: head.length + end, content: content() }
}

async function* values(name: string, source: TensorSource, finite: boolean): AsyncGenerator<Uint8Array> {
  const dtype = source.dtype ?? 'F32'
  const data = typeof source.data === 'function' ? await source.data() : source.data
  if (data.length !== lengthOf(source)) {
    throw new RangeError(
      `${name} has ${data.length} values, its shape [${source.shape}] has ${lengthOf(source)}`,
    )
  }
  const narrows = data instanceof Float32Array && (dtype === 'F16' || dtype === 'BF16')
  if (!narrows && !(data instanceof DTYPES[dtype].make(0).constructor)) {
    throw new RangeError(`${name}: a ${data.constructor.name} cannot be written as ${dtype}`)
  }
  const step = PIECE_BYTES / data.BYTES_PER_ELEMENT
  for (let at = 0; at < data.length; at += step) {
    const part = data.subarray(at, at + step)
    if (finite && (part instanceof Float32Array || part instanceof Float64Array) && !allFinite(part)) {
      throw new WaggleError('E_CHECKPOINT', `tensor ${quote(name)} holds a number that is infinite or NaN`, {
        hint: 'It was not written; the checkpoint before it stays as it was. Training has diverged: lower the learning rate.',
        data: { tensor: name },
      })
    }
    const raw = narrows ? fromFloat32(dtype, part as Float32Array) : part
    yield new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength)
  }
}

function lengthOf({ shape }: TensorSource): number {
  return shape.reduce((product, size) => product * size, 1)
}
