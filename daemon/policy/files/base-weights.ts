// Reads a model's weights in a given precision. Matrices are quantized or turned into F16 piece by piece, so a matrix
// is never in memory twice, and is in F32 only if that is what was asked for. (Node cannot map files into memory;
// reading ranges of the file is the next best thing.)

import { createHash } from 'node:crypto'
import { WaggleError } from '../../../protocol/errors.ts'
import { type DecoderSpec, parameterShapes } from '../../engine/decoder.ts'
import { emptyBlocks, emptyHalves, quantizeInto, toHalvesInto } from '../../engine/stored/quantize.ts'
import type { BaseWeights, Stored } from '../../engine/stored/stored.ts'
import type { TensorFacts, WeightSource } from './model-files.ts'

/**
 * How frozen matrices are kept. `file` keeps quantized and 16-bit matrices as they are in the file; `q8` and `q4` also
 * round the others. Norms and biases are always F32.
 */
export type BasePrecision = 'f32' | 'file' | 'f16' | 'q8' | 'q4'

/** What a matrix becomes. */
type Kept = 'f32' | 'file' | 'f16' | 4 | 8

/** About how many values are read at a time when a matrix is rounded. */
const PIECE_VALUES = 2 ** 21
/** Values per block, in the engines and in most files. */
const BLOCK = 32

/** Reads all weights. Also returns the SHA-256 of them and the spec, which does not depend on the precision. */
export async function readWeights(
  source: WeightSource,
  spec: DecoderSpec,
  precision: BasePrecision,
): Promise<{ weights: BaseWeights; digest: string }> {
  const shapes = parameterShapes(spec)
  // Check all shapes before allocating anything.
  for (const [name, shape] of shapes) {
    const info = source.tensors.get(name)
    if (info && info.shape.join() !== shape.join()) {
      throw new WaggleError(
        'E_MODEL',
        `tensor "${name}" has shape [${info.shape}], config.json asks for [${shape}]`,
        { hint: 'config.json and the weights do not belong together.' },
      )
    }
  }
  const hash = createHash('sha256').update(JSON.stringify(spec))
  const heed = (bytes: Uint8Array): void => void hash.update(bytes)
  const weights: Record<string, Float32Array | Stored> = {}
  for (const [name, shape] of shapes) {
    const facts = source.tensors.get(name)
    const kept = facts ? keptAs(name, facts, precision) : 'f32'
    if (kept === 'f32') {
      // The reader reports a missing tensor before memory is allocated for it.
      weights[name] = await source.readFloat32(name, facts && sharedFloats(shape), { heed })
    } else if (kept === 'file') weights[name] = await source.readBlocks!(name, { heed })
    else weights[name] = await rounded(source, name, shape, { kept, headWidth: spec.headWidth, heed })
  }
  return { weights, digest: hash.digest('hex') }
}

export interface BaseBytes {
  all: number
  /** Bytes of the matrices in 4- or 8-bit blocks. */
  blocks: number
}

/** Bytes that the weights take in a precision. */
export function bytesIn(
  tensors: WeightSource['tensors'],
  spec: DecoderSpec,
  precision: BasePrecision,
): BaseBytes {
  const sum: BaseBytes = { all: 0, blocks: 0 }
  for (const [name, shape] of parameterShapes(spec)) {
    const size = shape.reduce((a, b) => a * b, 1)
    const facts = tensors.get(name)
    const kept = facts ? keptAs(name, facts, precision) : 'f32'
    const bytes = size * bytesPerValue(kept, facts)
    sum.all += bytes
    if (kept === 4 || kept === 8 || (kept === 'file' && facts?.quantized)) sum.blocks += bytes
  }
  return sum
}

function bytesPerValue(kept: Kept, facts: TensorFacts | undefined): number {
  if (kept === 'f32') return 4
  if (kept === 'f16') return 2
  if (kept !== 'file') return kept / 8 + 4 / BLOCK
  const { bits, group, hasMinimums } = facts!.quantized!
  return bits / 8 + (hasMinimums ? 8 : 4) / group
}

function keptAs(name: string, { shape, quantized, isHalf }: TensorFacts, precision: BasePrecision): Kept {
  if (precision === 'f32' || shape.length !== 2) return 'f32'
  if (precision === 'f16') return 'f16'
  const isTable = name === 'model.embed_tokens.weight' || name === 'lm_head.weight'
  if (quantized) return precision === 'q4' && quantized.isRound && !isTable ? 4 : 'file'
  if (precision === 'file') return isHalf ? 'f16' : 'f32'
  if (shape[1]! % BLOCK !== 0) return 'f16'
  // With `q4` the embedding and output tables get 8 bits, because 4 bits would harm them most.
  return precision === 'q8' || isTable ? 8 : 4
}

async function rounded(
  source: WeightSource,
  name: string,
  [rows, columns]: readonly number[],
  { kept, headWidth, heed }: { kept: 'f16' | 4 | 8; headWidth: number; heed(bytes: Uint8Array): void },
): Promise<Stored> {
  const size = rows! * columns!
  const out = kept === 'f16' ? emptyHalves(size) : emptyBlocks(size, kept)
  // Read whole heads, because some files order the rows within a head differently.
  const heads = Math.max(1, Math.floor(PIECE_VALUES / (columns! * headWidth)))
  const piece = new Float32Array(Math.min(size, heads * headWidth * columns!))
  for (let at = 0; at < size; at += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, size - at))
    await source.readFloat32(name, part, { at, heed })
    if (out.kind === 'halves') toHalvesInto(part, out, at)
    else quantizeInto(part, out, at)
  }
  return out
}

/** Allocates shared memory, so that engine threads can use frozen weights without copies. */
function sharedFloats(shape: readonly number[]): Float32Array {
  return new Float32Array(new SharedArrayBuffer(shape.reduce((a, b) => a * b, 1) * 4))
}
