// Reads a model's weights in a given precision. Matrices become blocks of 4- or 8-bit numbers or halves piece by piece,
// so that a matrix is never in memory twice, and never in F32 unless it is wanted so. (Node cannot map files; reading
// ranges of the file is the next best.)

import { createHash } from 'node:crypto'
import { WaggleError } from '../../../protocol/errors.ts'
import { type DecoderSpec, parameterShapes } from '../../engine/decoder.ts'
import { emptyBlocks, emptyHalves, quantizeInto, toHalvesInto } from '../../engine/stored/quantize.ts'
import type { BaseWeights, Stored } from '../../engine/stored/stored.ts'
import type { TensorFacts, WeightSource } from './model-files.ts'

/**
 * How frozen matrices are kept: `file` keeps quantized ones and 16-bit ones as the file has them; `q8` and `q4` round
 * the others, too. Norms and biases are always F32.
 */
export type BasePrecision = 'f32' | 'file' | 'f16' | 'q8' | 'q4'

/** What a matrix becomes. */
type Kept = 'f32' | 'file' | 'f16' | 4 | 8

/** Rounded values are read in pieces of about this many. */
const PIECE_VALUES = 2 ** 21
/** In engines and in most files. */
const BLOCK = 32

/** Reads all weights, and their SHA-256 with that of the spec: it is the same for every precision. */
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
      // The reader reports a missing tensor before allocating memory for it.
      weights[name] = await source.readFloat32(name, facts && sharedFloats(shape), { heed })
    } else if (kept === 'file') weights[name] = await source.readBlocks!(name, { heed })
    else weights[name] = await rounded(source, name, shape, { kept, headWidth: spec.headWidth, heed })
  }
  return { weights, digest: hash.digest('hex') }
}

export interface BaseBytes {
  all: number
  /** Those of matrices in blocks of 4 or 8 bits. */
  blocks: number
}

/** Bytes of the weights in a precision. */
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
  // With 4 bits, what words mean and which come next suffers most.
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
  // Whole heads, whose rows some files have in another order.
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

/** In shared memory, so that engine threads use frozen weights without copies. */
function sharedFloats(shape: readonly number[]): Float32Array {
  return new Float32Array(new SharedArrayBuffer(shape.reduce((a, b) => a * b, 1) * 4))
}
