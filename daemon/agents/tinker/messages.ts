// The protobuf messages of Tinker's client: batches to learn from, and the answers with arrays. Field numbers are those
// of tinker_public.proto in the client (tinker 0.38).

import { reader, writer } from 'protons-runtime'
import type { TopTokens } from '../../engine/engine.ts'
import { invalid } from '../errors.ts'

type Reader = ReturnType<typeof reader>

/** One sequence to learn from: position i of the input predicts position i of the targets. */
export interface Datum {
  /** Shape [positions]. */
  tokens: Int32Array
  /** What the loss reads, by name, each of shape [positions]. */
  inputs: Readonly<Record<string, Float64Array>>
}

export interface Batch {
  model: string
  sequence: number
  data: Datum[]
  loss: string
  config: Readonly<Record<string, number | string>>
  forwardOnly: boolean
}

const [VARINT, BYTES] = [0, 2]
const [FLOAT32, INT64, INT32] = [1, 2, 3]

/** Reads a message's fields; those that `read` does not take are skipped. */
function fields(bytes: Uint8Array, read: (field: number, wire: number, from: Reader) => boolean): void {
  const from = reader(bytes)
  while (from.pos < from.len) {
    const tag = from.uint32()
    if (!read(tag >>> 3, tag & 7, from)) from.skipType(tag & 7)
  }
}

/** Throws HttpError for bytes that are no such message. */
export function readBatch(bytes: Uint8Array): Batch {
  const batch: Batch = { model: '', sequence: 0, data: [], loss: '', config: {}, forwardOnly: false }
  const config: Record<string, number | string> = {}
  try {
    fields(bytes, (field, wire, from) => {
      if (field === 1 && wire === BYTES) batch.model = from.string()
      else if (field === 2 && wire === VARINT) batch.sequence = from.int32()
      else if (field === 3 && wire === BYTES) batch.data.push(readDatum(from.bytes(), batch.data.length))
      else if (field === 4 && wire === BYTES) batch.loss = from.string()
      else if (field === 6 && wire === VARINT) batch.forwardOnly = from.bool()
      else if (field === 7 && wire === BYTES) {
        const [name, value] = readEntry(from.bytes())
        config[name] = readSetting(value)
      } else return false
      return true
    })
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError)
      throw invalid('the body is not a ForwardBackwardRequest in protobuf')
    throw error
  }
  return { ...batch, config }
}

function readEntry(bytes: Uint8Array): [string, Uint8Array] {
  let [name, value] = ['', new Uint8Array()]
  fields(bytes, (field, wire, from) => {
    if (field === 1 && wire === BYTES) name = from.string()
    else if (field === 2 && wire === BYTES) value = from.bytes()
    else return false
    return true
  })
  return [name, value]
}

function readSetting(bytes: Uint8Array): number | string {
  let setting: number | string = 0
  fields(bytes, (field, wire, from) => {
    if (field === 1 && wire === 1) setting = from.double()
    else if (field === 2 && wire === BYTES) setting = from.string()
    else return false
    return true
  })
  return setting
}

function readDatum(bytes: Uint8Array, index: number): Datum {
  const chunks: Int32Array[] = []
  const inputs: Record<string, Float64Array> = {}
  fields(bytes, (field, wire, from) => {
    if (wire !== BYTES) return false
    if (field === 1) chunks.push(readChunk(from.bytes(), index))
    else if (field === 2) {
      const [name, value] = readEntry(from.bytes())
      inputs[name] = readTensor(value, `"${name.slice(0, 64)}" of datum ${index}`)
    } else return false
    return true
  })
  const tokens = new Int32Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    tokens.set(chunk, at)
    at += chunk.length
  }
  return { tokens, inputs }
}

function readChunk(bytes: Uint8Array, index: number): Int32Array {
  let tokens: Int32Array | undefined
  fields(bytes, (field, wire, from) => {
    if (field !== 1 || wire !== BYTES) return false
    fields(from.bytes(), (inner, _, text) => {
      if (inner !== 1) return false
      tokens = new Int32Array(aligned(text.bytes(), 4))
      return true
    })
    return true
  })
  if (!tokens) throw invalid(`datum ${index} has a part that is not text: images and sound cannot be read`)
  return tokens
}

function readTensor(bytes: Uint8Array, what: string): Float64Array {
  let [type, dense, isSparse] = [0, new Uint8Array(), false]
  const shape: number[] = []
  fields(bytes, (field, wire, from) => {
    if (field === 1 && wire === BYTES) dense = from.bytes()
    else if (field === 2) isSparse = true
    else if (field === 3 && wire === VARINT) type = from.uint32()
    else if (field === 4 && wire === VARINT) shape.push(from.int64Number())
    else if (field === 4 && wire === BYTES) readPacked(from.bytes(), shape)
    else return false
    if (isSparse)
      throw invalid(`${what} is sparse: one value for each position can be learnt from, not several`)
    return true
  })
  if (shape.length > 1)
    throw invalid(`${what} has the shape [${shape}]: it can only have one value for each position`)
  if (type === FLOAT32) return Float64Array.from(new Float32Array(aligned(dense, 4)))
  if (type === INT32) return Float64Array.from(new Int32Array(aligned(dense, 4)))
  if (type === INT64) return Float64Array.from(new BigInt64Array(aligned(dense, 8)), Number)
  throw invalid(`${what} has a type of number that is not known`)
}

/** Packed integers. */
function readPacked(bytes: Uint8Array, into: number[]): void {
  const from = reader(bytes)
  while (from.pos < from.len) into.push(from.int64Number())
}

/** A copy that typed arrays of this width can stand on. */
function aligned(bytes: Uint8Array, width: number): ArrayBuffer {
  if (bytes.length % width !== 0) throw new RangeError('an array ends within a number')
  return new Uint8Array(bytes).buffer
}

const bytesOf = (array: Float32Array | Int32Array | BigInt64Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

export interface Losses {
  /** By datum, shape [positions]. */
  logprobs: readonly Float32Array[]
  metrics: Readonly<Record<string, number>>
}

/** A ForwardBackwardOutput. */
export function lossesMessage({ logprobs, metrics }: Losses): Uint8Array {
  const data = new Float32Array(logprobs.reduce((sum, { length }) => sum + length, 0))
  /** Where each datum begins and ends, in bytes. */
  const ends = new BigInt64Array(logprobs.length + 1)
  let at = 0
  for (const [i, one] of logprobs.entries()) {
    data.set(one, at)
    at += one.length
    ends[i + 1] = BigInt(4 * at)
  }
  const tensor = writer()
  tensor.uint32(10).bytes(bytesOf(data))
  tensor.uint32(18).bytes(bytesOf(ends))
  tensor.uint32(24).int32(FLOAT32)
  const record = writer()
  record.uint32(18).bytes(writer().uint32(10).string('logprobs').uint32(18).bytes(tensor.finish()).finish())
  record.uint32(24).int32(logprobs.length)
  const message = writer().uint32(10).string('ArrayRecord').uint32(18).bytes(record.finish())
  for (const [name, value] of Object.entries(metrics))
    message.uint32(26).bytes(writer().uint32(10).string(name).uint32(17).double(value).finish())
  return message.finish()
}

export interface Sequence {
  tokens: Int32Array
  /** Log-probs of the distribution that they were drawn from. */
  logprobs: Float32Array
  isStopped: boolean
  top?: TopTokens | undefined
}

export interface Samples {
  sequences: readonly Sequence[]
  /** NaN where none was computed. Shape [prompt tokens]. */
  promptLogprobs?: Float32Array | undefined
  promptTop?: TopTokens | undefined
}

/** A SampleResponse. */
export function samplesMessage({ sequences, promptLogprobs, promptTop }: Samples): Uint8Array {
  const message = writer()
  for (const { tokens, logprobs, isStopped, top } of sequences) {
    const one = writer()
    one.uint32(8).int32(isStopped ? 0 : 1)
    one.uint32(18).bytes(bytesOf(tokens))
    one.uint32(26).bytes(bytesOf(logprobs))
    if (top) one.uint32(34).bytes(topMessage(top))
    message.uint32(10).bytes(one.finish())
  }
  if (promptLogprobs) message.uint32(18).bytes(bytesOf(promptLogprobs))
  if (promptTop) message.uint32(26).bytes(topMessage(promptTop))
  return message.finish()
}

function topMessage({ count, tokens, logprobs }: TopTokens): Uint8Array {
  const message = writer()
    .uint32(10)
    .bytes(bytesOf(Int32Array.from(tokens)))
  message.uint32(18).bytes(bytesOf(Float32Array.from(logprobs)))
  return message
    .uint32(24)
    .uint32(count)
    .uint32(32)
    .uint32(tokens.length / count)
    .finish()
}
