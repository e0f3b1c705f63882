// Maps the tensors of a GGUF model to Hugging Face's names, and reverses what llama.cpp's converter does to their
// values.

import { arraysOf, type Blocks } from '../../engine/stored/stored.ts'
import type { GgufFamily } from './families.ts'

const OUTER: Record<string, string> = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'output.weight': 'lm_head.weight',
}
const LAYER: Record<string, string> = {
  'attn_norm.weight': 'input_layernorm.weight',
  'attn_q.weight': 'self_attn.q_proj.weight',
  'attn_k.weight': 'self_attn.k_proj.weight',
  'attn_v.weight': 'self_attn.v_proj.weight',
  'attn_q.bias': 'self_attn.q_proj.bias',
  'attn_k.bias': 'self_attn.k_proj.bias',
  'attn_v.bias': 'self_attn.v_proj.bias',
  'attn_q_norm.weight': 'self_attn.q_norm.weight',
  'attn_k_norm.weight': 'self_attn.k_norm.weight',
  'attn_output.weight': 'self_attn.o_proj.weight',
  'ffn_gate.weight': 'mlp.gate_proj.weight',
  'ffn_up.weight': 'mlp.up_proj.weight',
  'ffn_down.weight': 'mlp.down_proj.weight',
}
const PLAIN_NORMS: Record<string, string> = { 'ffn_norm.weight': 'post_attention_layernorm.weight' }
const POST_NORMS: Record<string, string> = {
  'post_attention_norm.weight': 'post_attention_layernorm.weight',
  'ffn_norm.weight': 'pre_feedforward_layernorm.weight',
  'post_ffw_norm.weight': 'post_feedforward_layernorm.weight',
}

const PLAIN = new Map(Object.entries({ ...LAYER, ...PLAIN_NORMS }))
const WITH_POST_NORMS = new Map(Object.entries({ ...LAYER, ...POST_NORMS }))
const AROUND = new Map(Object.entries(OUTER))

const namesOf = ({ postNorms = false }: GgufFamily) => (postNorms ? WITH_POST_NORMS : PLAIN)

/** The name in Hugging Face's layout; undefined for a tensor that the family does not have. */
export function huggingFaceName(name: string, family: GgufFamily): string | undefined {
  const inLayer = /^blk\.(0|[1-9]\d{0,3})\.(.+)$/.exec(name)
  if (!inLayer) return AROUND.get(name)
  const part = namesOf(family).get(inLayer[2]!)
  return part && `model.layers.${inLayer[1]}.${part}`
}

/** The GGUF name of a tensor in Hugging Face's layout. */
export function ggufName(name: string, family: GgufFamily): string {
  const inLayer = /^model\.layers\.(\d+)\.(.+)$/.exec(name)
  const [of, part] = inLayer ? [namesOf(family), inLayer[2]] : [AROUND, name]
  for (const [own, theirs] of of) if (theirs === part) return inLayer ? `blk.${inLayer[1]}.${own}` : own
  throw new RangeError(`${name} has no name in GGUF`)
}

export interface TensorFacts {
  /** The name in Hugging Face's layout. */
  name: string
  /** Number of rows of the matrix. */
  rows: number
  headWidth: number
}

/** Converts values from GGUF's form to Hugging Face's, in place. A part of a matrix must consist of whole heads. */
export function fromGguf(values: Float32Array, facts: TensorFacts, family: GgufFamily): void {
  if (hasOffset(facts, family)) for (let i = 0; i < values.length; i++) values[i]! -= 1
  if (isInterleaved(facts, family)) reorderRows(values, facts, apart)
}

/** The same as `fromGguf`, for a quantized matrix. */
export function reorderBlocks(blocks: Blocks, facts: TensorFacts, family: GgufFamily): void {
  if (isInterleaved(facts, family)) for (const array of arraysOf(blocks)) reorderRows(array, facts, apart)
}

/** Neighbouring rows 2i and 2i + 1 become rows i and i + half. */
const apart = (row: number, half: number): number => 2 * (row % half) + (row < half ? 0 : 1)

/** The reverse of `fromGguf`. Returns a copy if anything changes. */
export function toGguf(values: Float32Array, facts: TensorFacts, family: GgufFamily): Float32Array {
  if (hasOffset(facts, family)) return values.map((value) => value + 1)
  if (!isInterleaved(facts, family)) return values
  const copy = values.slice()
  reorderRows(copy, facts, (row, half) => (row >>> 1) + (row % 2 === 0 ? 0 : half))
  return copy
}

const hasOffset = ({ name }: TensorFacts, { unitOffsetNorms = false }: GgufFamily): boolean =>
  unitOffsetNorms && name.endsWith('norm.weight')

/**
 * True for Llama's queries and keys: GGUF rotates neighbouring rows of a head, Hugging Face rotates row i with row i +
 * half. The rows of an adapter's B are ordered the same way.
 */
const isInterleaved = ({ name }: TensorFacts, { interleaved = false }: GgufFamily): boolean =>
  interleaved && /\.[qk]_proj\.(weight|lora_B\.weight)$/.test(name)

/** Row `row` of each head is replaced by the present row `from(row)`. */
function reorderRows(
  values: Float32Array | Uint16Array | Uint8Array,
  { rows, headWidth }: TensorFacts,
  from: (row: number, half: number) => number,
): void {
  const columns = values.length / rows
  const half = headWidth / 2
  for (let head = 0; head < rows; head += headWidth) {
    const start = head * columns
    const before = values.slice(start, start + headWidth * columns)
    for (let row = 0; row < headWidth; row++) {
      const at = from(row, half) * columns
      values.set(before.subarray(at, at + columns), start + row * columns)
    }
  }
}
