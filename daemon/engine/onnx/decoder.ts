// The parts of a decoder that treat tokens one by one, lowered to a graph: projections, norms, feed-forward, embeddings.
// `attention.ts` has what lies between them, `groups.ts` the whole for training, `sampling.ts` for sampling.

import { adapterNames, adapterShapes, type DecoderSpec, parameterShapes, rotaryTables } from '../decoder.ts'
import { gatedSilu, linear, type Rotary, rmsNorm, rotate } from './blocks.ts'
import { boundSize, type Dimension, showDimension } from './dimension.ts'
import { fixed, type Graph, type Value } from './graph.ts'
import { add, gatherRows, mul, reshape } from './ops.ts'

export type Parameters = ReadonlyMap<string, Value>

export function declareParameters(graph: Graph, spec: DecoderSpec): Parameters {
  const parameters = new Map<string, Value>()
  for (const shapes of [parameterShapes(spec), adapterShapes(spec)])
    for (const [name, shape] of shapes) parameters.set(name, graph.input(name, 'float32', shape))
  return parameters
}

/** Angles of positions 0 to `length` - 1. Made for each run's length: a context of 131072 would fill every graph. */
export function rotaryInputs(graph: Graph, spec: DecoderSpec, length: Dimension): { cos: Value; sin: Value } {
  const shape = [length, spec.headWidth / 2]
  const input = (which: 'cos' | 'sin'): Value =>
    graph.compute(`${which} ${showDimension(length)}`, 'float32', shape, (bindings) => {
      const positions = Int32Array.from({ length: boundSize(length, bindings) }, (_, position) => position)
      return rotaryTables(spec, positions)[which]
    })
  return { cos: input('cos'), sin: input('sin') }
}

/** The parameters of one layer, its adapters' among them. */
export function layerParameters(parameters: Parameters, index: number): Value[] {
  const at = `model.layers.${index}.`
  return [...parameters].filter(([name]) => name.startsWith(at)).map(([, value]) => value)
}

function need(parameters: Parameters, name: string): Value {
  const value = parameters.get(name)
  if (!value) throw new Error(`no parameter ${name}`)
  return value
}

/** x through a matrix of the model, its bias and its adapter, as far as it has them. */
function applied(parameters: Parameters, spec: DecoderSpec, name: string, x: Value): Value {
  const plain = linear(x, need(parameters, `${name}.weight`), parameters.get(`${name}.bias`))
  const { a, b } = adapterNames(`${name}.weight`)
  const down = parameters.get(a)
  const up = parameters.get(b)
  if (!spec.adapter || !down || !up) return plain
  const scale = x.graph.scalar(spec.adapter.alpha / spec.adapter.rank)
  return add(plain, linear(mul(linear(x, down), scale), up))
}

/** Query, key or value rows [N, heads * headWidth] of a layer's normed input, rotated if the family rotates it. */
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
    out = reshape(rmsNorm(heads, need(parameters, `${at}.${which}_norm.weight`), spec.normEpsilon), out.shape)
  }
  return reshape(rotate(reshape(out, [rows!, 1, width!]), rotary), out.shape)
}

/** The residual stream after a layer's attention output and its feed-forward block. */
export function finishLayer(
  parameters: Parameters,
  spec: DecoderSpec,
  index: number,
  x: Value,
  context: Value,
): Value {
  const at = `model.layers.${index}`
  const attended = add(x, applied(parameters, spec, `${at}.self_attn.o_proj`, context))
  const normed = rmsNorm(
    attended,
    need(parameters, `${at}.post_attention_layernorm.weight`),
    spec.normEpsilon,
  )
  const gate = applied(parameters, spec, `${at}.mlp.gate_proj`, normed)
  const up = applied(parameters, spec, `${at}.mlp.up_proj`, normed)
  return add(attended, applied(parameters, spec, `${at}.mlp.down_proj`, gatedSilu(gate, up)))
}

export function inputNorm(parameters: Parameters, spec: DecoderSpec, layer: number, x: Value): Value {
  return rmsNorm(x, need(parameters, `model.layers.${layer}.input_layernorm.weight`), spec.normEpsilon)
}

export function embed(parameters: Parameters, tokens: Value): Value {
  return gatherRows(need(parameters, 'model.embed_tokens.weight'), tokens)
}

/** Logits [N, V] of the final residual stream [N, D]. */
export function unembed(parameters: Parameters, spec: DecoderSpec, x: Value): Value {
  return linear(finalNorm(parameters, spec, x), headTable(parameters, spec))
}

export function finalNorm(parameters: Parameters, spec: DecoderSpec, x: Value): Value {
  return rmsNorm(x, need(parameters, 'model.norm.weight'), spec.normEpsilon)
}

/** The matrix [V, D] that gives logits. */
export function headTable(parameters: Parameters, spec: DecoderSpec): Value {
  return need(parameters, spec.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight')
}
