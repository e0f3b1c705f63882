// A decoder lowered to a graph: the whole of it for scoring and training, over groups of completions that share a
// prompt, and its pieces for sampling (`sampling.ts`).
//
// Layout. A group's prompt but its last token is the *prefix*, computed once for the group. Each completion is a
// *segment* that begins with the prompt's last token, so that every prediction comes from a segment: the segment's
// tokens are [prompt's last, c0, ..., c(n-2)], its targets [c0, ..., c(n-1)]. Segments attend to their group's prefix
// and causally to themselves, never to one another ("Prefix Grouper", Liu et al. 2025). All tokens of all parts go
// through the linear layers as one matrix.

import { adapterNames, adapterShapes, type DecoderSpec, parameterShapes, rotaryTables } from '../decoder.ts'
import { gatedSilu, linear, type Rotary, rmsNorm, rotate } from './blocks.ts'
import { boundSize, type Dimension, plus, showDimension, symbol, times } from './dimension.ts'
import { fixed, type Graph, type Value } from './graph.ts'
import {
  add,
  concat,
  expand,
  gatherRows,
  matmul,
  mul,
  reshape,
  slice,
  softmax,
  swapLast,
  transpose,
} from './ops.ts'

/** Sizes of one micro-batch. */
export interface BatchShape<Size = number> {
  groups: Size
  /** Completions in each group. */
  rows: Size
  /** Prefix tokens, padded at the end; at least 1. */
  prefix: Size
  /** Segment tokens, padded at the end. */
  segment: Size
}

/** A micro-batch of any size: one graph is compiled for all of them. */
export const ANY_BATCH: BatchShape<Dimension> = {
  groups: symbol('groups'),
  rows: symbol('rows'),
  prefix: symbol('prefix'),
  segment: symbol('segment'),
}

export type Parameters = ReadonlyMap<string, Value>

const MASKED = -1e9

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
  const normed = rmsNorm(x, need(parameters, 'model.norm.weight'), spec.normEpsilon)
  return linear(
    normed,
    need(parameters, spec.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight'),
  )
}

/** Lower-triangular bias [repeats * size, size]: 0 where a token may look, a large negative number elsewhere. */
export function causalBias(graph: Graph, size: Dimension, repeats: number): Value {
  return graph.compute(
    `causal ${showDimension(size)} ${repeats}`,
    'float32',
    [times(repeats, size), size],
    (bindings) => {
      const length = boundSize(size, bindings)
      const bias = new Float32Array(repeats * length * length)
      for (let r = 0; r < repeats; r++) {
        for (let i = 0; i < length; i++)
          bias.fill(MASKED, (r * length + i) * length + i + 1, (r * length + i + 1) * length)
      }
      return bias
    },
  )
}

/** Causal attention of prefixes: q, k, v are [B * P, heads * headWidth]; gives [B * P, heads * headWidth]. */
export function prefixAttention(
  spec: DecoderSpec,
  batch: Dimension,
  length: Dimension,
  q: Value,
  k: Value,
  v: Value,
): Value {
  const { heads, kvHeads, headWidth } = spec
  const share = heads / kvHeads
  const queries = reshape(
    transpose(reshape(q, [batch, length, kvHeads, share, headWidth]), [0, 2, 3, 1, 4]),
    [batch, kvHeads, times(share, length), headWidth],
  )
  const keys = byHead(k, batch, length, spec)
  const values = byHead(v, batch, length, spec)
  const scaled = mul(queries, q.graph.scalar(headWidth ** -0.5))
  const scores = add(matmul(scaled, swapLast(keys)), causalBias(q.graph, length, share))
  const context = reshape(matmul(softmax(scores), values), [batch, kvHeads, share, length, headWidth])
  return reshape(transpose(context, [0, 3, 1, 2, 4]), [times(batch, length), heads * headWidth])
}

/** [B * T, kvHeads * headWidth] as [B, kvHeads, T, headWidth]. */
export function byHead(
  x: Value,
  batch: Dimension,
  length: Dimension,
  { kvHeads, headWidth }: DecoderSpec,
): Value {
  return transpose(reshape(x, [batch, length, kvHeads, headWidth]), [0, 2, 1, 3])
}

export interface GroupInputs {
  /** int32 [groups * prefix + groups * rows * segment]: all prefixes, then all segments. */
  tokens: Value
  /** int64 [same, 1]. */
  positions: Value
  /** [groups, prefix]: 0 for a real prefix token, a large negative number for padding. */
  prefixBias: Value
}

export function declareGroupInputs(
  graph: Graph,
  { groups, rows, prefix, segment }: BatchShape<Dimension>,
): GroupInputs {
  const count = plus(times(groups, prefix), times(groups, rows, segment))
  return {
    tokens: graph.input('tokens', 'int32', [count]),
    positions: graph.input('positions', 'int64', [count, 1]),
    prefixBias: graph.input('prefixBias', 'float32', [groups, prefix]),
  }
}

/** Logits of every segment token, [groups * rows * segment, V]. */
export function groupLogits(
  graph: Graph,
  spec: DecoderSpec,
  parameters: Parameters,
  shape: BatchShape<Dimension>,
  inputs: GroupInputs,
): Value {
  const { groups, rows, prefix, segment } = shape
  const { kvHeads, heads, headWidth } = spec
  const share = heads / kvHeads
  const prefixCount = times(groups, prefix)
  const count = plus(prefixCount, times(groups, rows, segment))
  const rotary: Rotary = {
    positions: inputs.positions,
    ...rotaryInputs(graph, spec, plus(prefix, segment)),
  }
  const segmentRotary: Rotary = { ...rotary, positions: slice(inputs.positions, 0, prefixCount, count) }
  const bias = concat(
    [
      expand(reshape(inputs.prefixBias, [groups, 1, 1, 1, prefix]), [
        groups,
        1,
        1,
        times(share, segment),
        prefix,
      ]),
      expand(causalBias(graph, segment, share), [groups, 1, 1, times(share, segment), segment]),
    ],
    4,
  )

  const segmentAttention = (q: Value, k: Value, v: Value): Value => {
    const queries = mul(
      reshape(transpose(reshape(q, [groups, rows, segment, kvHeads, share, headWidth]), [0, 1, 3, 4, 2, 5]), [
        groups,
        rows,
        kvHeads,
        times(share, segment),
        headWidth,
      ]),
      graph.scalar(headWidth ** -0.5),
    )
    const ofPrefix = (x: Value): Value =>
      reshape(byHead(slice(x, 0, 0, prefixCount), groups, prefix, spec), [
        groups,
        1,
        kvHeads,
        prefix,
        headWidth,
      ])
    const ofSegment = (x: Value): Value =>
      reshape(byHead(slice(x, 0, prefixCount, count), times(groups, rows), segment, spec), [
        groups,
        rows,
        kvHeads,
        segment,
        headWidth,
      ])
    const scores = concat(
      [matmul(queries, swapLast(ofPrefix(k))), matmul(queries, swapLast(ofSegment(k)))],
      4,
    )
    const weights = softmax(add(scores, bias))
    const context = add(
      matmul(slice(weights, 4, 0, prefix), ofPrefix(v)),
      matmul(slice(weights, 4, prefix, plus(prefix, segment)), ofSegment(v)),
    )
    return reshape(
      transpose(reshape(context, [groups, rows, kvHeads, share, segment, headWidth]), [0, 1, 4, 2, 3, 5]),
      [times(groups, rows, segment), heads * headWidth],
    )
  }

  let x = embed(parameters, inputs.tokens)
  for (let layer = 0; layer < spec.layers; layer++) {
    const normed = inputNorm(parameters, spec, layer, x)
    const k = project(parameters, spec, layer, 'k', normed, rotary)
    const v = project(parameters, spec, layer, 'v', normed, rotary)
    if (layer === spec.layers - 1) {
      // Nothing reads the prefix after its last keys and values.
      const q = project(parameters, spec, layer, 'q', slice(normed, 0, prefixCount, count), segmentRotary)
      x = finishLayer(parameters, spec, layer, slice(x, 0, prefixCount, count), segmentAttention(q, k, v))
      break
    }
    const q = project(parameters, spec, layer, 'q', normed, rotary)
    const head = (value: Value): Value => slice(value, 0, 0, prefixCount)
    const context = concat(
      [
        prefixAttention(spec, groups, prefix, head(q), head(k), head(v)),
        segmentAttention(slice(q, 0, prefixCount, count), k, v),
      ],
      0,
    )
    x = finishLayer(parameters, spec, layer, x, context)
  }
  return unembed(parameters, spec, x)
}
