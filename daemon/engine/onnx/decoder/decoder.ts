// The parts of a decoder that process each token on its own, lowered to a graph: projections, norms, feed-forward,
// embeddings. Attention is in `attention.ts`. `groups.ts` and `sampling.ts` build whole decoders, for training and for
// sampling.

import {
  adapterNames,
  adapterShapes,
  type DecoderSpec,
  parameterShapes,
  rotaryTables,
  trainableShapes,
  windowOf,
} from '../../decoder.ts'
import { boundSize, type Dimension, showDimension } from '../graph/dimension.ts'
import { fixed, type Graph, type Value } from '../graph/graph.ts'
import { add, declareStored, type Matrix, mul, reshape, rowsOf, type StoredOptions } from '../graph/ops.ts'
import { gatedGelu, gatedSilu, linear, type Rotary, rmsNorm, rotate, softCap } from './blocks.ts'
import { plusLora } from './lora.ts'

export type Parameters = ReadonlyMap<string, Matrix>

export function declareParameters(
  graph: Graph,
  spec: DecoderSpec,
  options?: Pick<StoredOptions, 'packing'>,
): Parameters {
  const parameters = new Map<string, Matrix>()
  for (const shapes of [parameterShapes(spec), adapterShapes(spec)])
    for (const [name, shape] of shapes) {
      const form = spec.stored?.[name]
      const matrix = form
        ? declareStored(graph, name, shape as [number, number], form, options)
        : graph.input(name, 'float32', shape)
      parameters.set(name, matrix)
    }
  return parameters
}

/**
 * The rotary angles of a layer at positions 0 to `length` - 1. They are computed for the length of each run, because a
 * table for a context of 131072 tokens would bloat every graph.
 */
export function rotaryInputs(
  graph: Graph,
  spec: DecoderSpec,
  length: Dimension,
  layer: number,
): { cos: Value; sin: Value } {
  const isLocal = windowOf(spec, layer) !== undefined
  const shape = [length, spec.headWidth / 2]
  const input = (which: 'cos' | 'sin'): Value =>
    graph.compute(`${which} ${showDimension(length)} ${isLocal}`, 'float32', shape, (bindings) => {
      const positions = Int32Array.from({ length: boundSize(length, bindings) }, (_, position) => position)
      return rotaryTables(spec, positions, isLocal)[which]
    })
  return { cos: input('cos'), sin: input('sin') }
}

/** The trained parameters of one layer. */
export function trainedInLayer(parameters: Parameters, spec: DecoderSpec, index: number): Value[] {
  const at = `model.layers.${index}.`
  const names = [...trainableShapes(spec).keys()].filter((name) => name.startsWith(at))
  return names.map((name) => floats(parameters, name))
}

function need(parameters: Parameters, name: string): Matrix {
  const value = parameters.get(name)
  if (!value) throw new Error(`no parameter ${name}`)
  return value
}

/** A parameter that is never quantized: a norm, a bias or a trained matrix. */
export function floats(parameters: Parameters, name: string): Value {
  const value = need(parameters, name)
  if ('form' in value) throw new Error(`${name} is quantized`)
  return value
}

function norm(parameters: Parameters, spec: DecoderSpec, name: string, x: Value): Value {
  const weight = floats(parameters, `${name}.weight`)
  return rmsNorm(x, spec.unitOffsetNorms ? add(weight, x.graph.scalar(1)) : weight, spec.normEpsilon)
}

function biasOf(parameters: Parameters, name: string): Value | undefined {
  return parameters.has(`${name}.bias`) ? floats(parameters, `${name}.bias`) : undefined
}

/** Applies a matrix of the model to x, with its bias and its adapter if it has them. */
function applied(parameters: Parameters, spec: DecoderSpec, name: string, x: Value): Value {
  const plain = linear(x, need(parameters, `${name}.weight`), biasOf(parameters, name))
  const { a, b } = adapterNames(`${name}.weight`)
  if (!spec.adapter || !parameters.has(a)) return plain
  return plusLora(plain, x, { a: floats(parameters, a), b: floats(parameters, b), adapter: spec.adapter })
}

/** Query, key or value rows [N, heads * headWidth] from a layer's normed input. Queries and keys are rotated. */
export function project(
  parameters: Parameters,
  spec: DecoderSpec,
  index: number,
  which: 'q' | 'k' | 'v',
  x: Value,
  rotary: Rotary,
): Value {
  const at = `model.layers.${index}.self_attn`
  let out = applied(parameters, spec, `${at}.${which}_proj`, x)
  if (which === 'v') return out
  const [rows, width] = out.shape
  if (spec.queryKeyNorm) {
    const heads = reshape(out, [rows!, fixed('project', width!) / spec.headWidth, spec.headWidth])
    out = reshape(norm(parameters, spec, `${at}.${which}_norm`, heads), out.shape)
  }
  return reshape(rotate(reshape(out, [rows!, 1, width!]), rotary), out.shape)
}

/** Completes a layer: adds the attention output, then the feed-forward block, to the residual stream x. */
export function finishLayer(
  parameters: Parameters,
  spec: DecoderSpec,
  index: number,
  x: Value,
  context: Value,
): Value {
  const at = `model.layers.${index}`
  const normed = (name: string, of: Value): Value => norm(parameters, spec, `${at}.${name}_layernorm`, of)
  const mixed = applied(parameters, spec, `${at}.self_attn.o_proj`, context)
  // With post-norms, `post_attention_layernorm` norms the output of attention; otherwise the input of feed-forward.
  const attended = add(x, spec.postNorms ? normed('post_attention', mixed) : mixed)
  const input = normed(spec.postNorms ? 'pre_feedforward' : 'post_attention', attended)
  const gate = applied(parameters, spec, `${at}.mlp.gate_proj`, input)
  const up = applied(parameters, spec, `${at}.mlp.up_proj`, input)
  const active = spec.activation === 'gelu-tanh' ? gatedGelu(gate, up) : gatedSilu(gate, up)
  const out = applied(parameters, spec, `${at}.mlp.down_proj`, active)
  return add(attended, spec.postNorms ? normed('post_feedforward', out) : out)
}

export function inputNorm(parameters: Parameters, spec: DecoderSpec, layer: number, x: Value): Value {
  return norm(parameters, spec, `model.layers.${layer}.input_layernorm`, x)
}

export function embed(parameters: Parameters, { embeddingScale }: DecoderSpec, tokens: Value): Value {
  const rows = rowsOf(need(parameters, 'model.embed_tokens.weight'), tokens)
  return embeddingScale === undefined ? rows : mul(rows, tokens.graph.scalar(embeddingScale))
}

/** Logits [N, V] from the final residual stream [N, D]. */
export function unembed(parameters: Parameters, spec: DecoderSpec, x: Value): Value {
  return softCap(linear(finalNorm(parameters, spec, x), headTable(parameters, spec)), spec.logitSoftCap)
}

export function finalNorm(parameters: Parameters, spec: DecoderSpec, x: Value): Value {
  return norm(parameters, spec, 'model.norm', x)
}

/** The matrix [V, D] of the output layer. */
export function headTable(parameters: Parameters, spec: DecoderSpec): Matrix {
  return need(parameters, spec.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight')
}
