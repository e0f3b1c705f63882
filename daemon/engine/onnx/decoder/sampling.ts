// Sampling graphs. The key/value cache is not copied: a step reads it as an input and returns only the new token's
// keys and values, which the caller writes into the cache's memory. Attention over the cache and over the new token
// are two products joined in one softmax.

import { type DecoderSpec, windowOf } from '../../decoder.ts'
import { type Dimension, plus, symbol, times } from '../graph/dimension.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { add, concat, gatherRows, matmul, mul, reshape, slice, softmax } from '../graph/ops.ts'
import { byHead, type Past, prefixAttention, scaled, scoresOf } from './attention.ts'
import { type Rotary, softCap } from './blocks.ts'
import {
  declareParameters,
  embed,
  finishLayer,
  inputNorm,
  project,
  rotaryInputs,
  unembed,
} from './decoder.ts'

const BATCH = symbol('batch')
const LENGTH = symbol('length')
const PAST = symbol('past')
const CAPACITY = symbol('capacity')

/**
 * Reads prompts, padded at the end. Inputs `tokens` int32 [B * T], `positions` int64 [B * T, 1], `last` int32 [B] (row of
 * each prompt's last token). Outputs `logits` [B, V] and per layer `keys.i`, `values.i` [B, kvHeads, T, headWidth].
 *
 * With `isContinued`, P tokens before those are known: inputs per layer `keys.i`, `values.i` [B, kvHeads, P, headWidth],
 * `pastBias` [B, T, P] (0 where a token sees one of the past, a large negative number elsewhere), and `localPastBias` for
 * a model with sliding windows. The outputs are then `newKeys.i`, `newValues.i`.
 */
export function buildPrefill(spec: DecoderSpec, { isContinued = false } = {}): Graph {
  const [batch, length] = [BATCH, LENGTH]
  const graph = new Graph(isContinued ? 'continue' : 'prefill')
  const parameters = declareParameters(graph, spec)
  const tokens = graph.input('tokens', 'int32', [times(batch, length)])
  const positions = graph.input('positions', 'int64', [times(batch, length), 1])
  const last = graph.input('last', 'int32', [batch])
  const pastOf = isContinued ? declarePast(graph, spec) : () => undefined
  const [newKeys, newValues] = isContinued ? ['newKeys', 'newValues'] : ['keys', 'values']
  const farthest = isContinued ? plus(PAST, length) : length
  let x = embed(parameters, spec, tokens)
  for (let layer = 0; layer < spec.layers; layer++) {
    const normed = inputNorm(parameters, spec, layer, x)
    const rotary: Rotary = { positions, ...rotaryInputs(graph, spec, farthest, layer) }
    const q = project(parameters, spec, layer, 'q', normed, rotary)
    const k = project(parameters, spec, layer, 'k', normed, rotary)
    const v = project(parameters, spec, layer, 'v', normed, rotary)
    graph.output(`${newKeys}.${layer}`, byHead(k, batch, length, spec))
    graph.output(`${newValues}.${layer}`, byHead(v, batch, length, spec))
    const seen = { window: windowOf(spec, layer), past: pastOf(layer) }
    x = finishLayer(parameters, spec, layer, x, prefixAttention(spec, [batch, length], [q, k, v], seen))
  }
  graph.output('logits', unembed(parameters, spec, gatherRows(x, last)))
  return graph
}

/** The past of each layer. */
function declarePast(graph: Graph, spec: DecoderSpec): (layer: number) => Past {
  const bias = graph.input('pastBias', 'float32', [BATCH, LENGTH, PAST])
  const near = spec.local ? graph.input('localPastBias', 'float32', [BATCH, LENGTH, PAST]) : bias
  const shape = [BATCH, spec.kvHeads, PAST, spec.headWidth]
  return (layer) => ({
    length: PAST,
    keys: graph.input(`keys.${layer}`, 'float32', shape),
    values: graph.input(`values.${layer}`, 'float32', shape),
    bias: windowOf(spec, layer) === undefined ? bias : near,
  })
}

/**
 * Bias of each layer's scores over the cache, [B, 1, 1, T]. Inputs `cacheBias` [B, T], and `localBias` [B, T]
 * for a model with sliding windows, in which tokens outside the window are masked, too.
 */
export function cacheBiases(
  graph: Graph,
  spec: DecoderSpec,
  [batch, capacity]: [Dimension, Dimension],
): (layer: number) => Value {
  const table = (name: string): Value =>
    reshape(graph.input(name, 'float32', [batch, capacity]), [batch, 1, 1, capacity])
  const full = table('cacheBias')
  const local = spec.local ? table('localBias') : full
  return (layer) => (windowOf(spec, layer) === undefined ? full : local)
}

/**
 * One token for each of B sequences. Inputs `tokens` int32 [B], `positions` int64 [B, 1], `cacheBias` [B, T] (0
 * where the cache holds a token, a large negative number elsewhere), `localBias` (see `cacheBiases`) and per
 * layer `keys.i`, `values.i` [B, kvHeads, T, headWidth]. Outputs `logits` [B, V] and per layer `newKeys.i`,
 * `newValues.i` [B, kvHeads * headWidth]. With `isFixed`, matrices stored in
 * blocks are fixed inputs.
 */
export function buildDecode(spec: DecoderSpec, { isFixed = false } = {}): Graph {
  const [batch, capacity] = [BATCH, CAPACITY]
  const { kvHeads, heads, headWidth } = spec
  const share = heads / kvHeads
  const graph = new Graph('decode')
  const parameters = declareParameters(graph, spec, { isFixed })
  const tokens = graph.input('tokens', 'int32', [batch])
  const positions = graph.input('positions', 'int64', [batch, 1])
  const biasOf = cacheBiases(graph, spec, [batch, capacity])
  const cacheShape = [batch, kvHeads, capacity, headWidth]

  const attend = (layer: number, q: Value, k: Value, v: Value): Value => {
    const keys = graph.input(`keys.${layer}`, 'float32', cacheShape)
    const values = graph.input(`values.${layer}`, 'float32', cacheShape)
    const queries = scaled(reshape(q, [batch, kvHeads, share, headWidth]), spec)
    const newKey = reshape(k, [batch, kvHeads, headWidth, 1])
    const newValue = reshape(v, [batch, kvHeads, 1, headWidth])
    const past = add(scoresOf(queries, keys, spec), biasOf(layer))
    const weights = softmax(concat([past, softCap(matmul(queries, newKey), spec.attentionSoftCap)], 3))
    const context = add(
      matmul(slice(weights, 3, 0, capacity), values),
      mul(slice(weights, 3, capacity, plus(capacity, 1)), newValue),
    )
    return reshape(context, [batch, heads * headWidth])
  }

  let x = embed(parameters, spec, tokens)
  for (let layer = 0; layer < spec.layers; layer++) {
    const normed = inputNorm(parameters, spec, layer, x)
    const rotary: Rotary = { positions, ...rotaryInputs(graph, spec, capacity, layer) }
    const q = project(parameters, spec, layer, 'q', normed, rotary)
    const k = project(parameters, spec, layer, 'k', normed, rotary)
    const v = project(parameters, spec, layer, 'v', normed, rotary)
    graph.output(`newKeys.${layer}`, k)
    graph.output(`newValues.${layer}`, v)
    x = finishLayer(parameters, spec, layer, x, attend(layer, q, k, v))
  }
  graph.output('logits', unembed(parameters, spec, x))
  return graph
}
