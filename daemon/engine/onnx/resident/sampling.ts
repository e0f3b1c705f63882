// Sampling graphs for a KV cache that stays on the device. Each step outputs the whole cache with the new tokens' keys
// and values inserted: a device cannot write to a tensor that it reads, but it has the bandwidth for a copy.

import { type DecoderSpec, windowOf } from '../../decoder.ts'
import { scaled, scoresOf } from '../decoder/attention.ts'
import type { Rotary } from '../decoder/blocks.ts'
import {
  declareParameters,
  embed,
  finishLayer,
  inputNorm,
  project,
  rotaryInputs,
  unembed,
} from '../decoder/decoder.ts'
import { type Dimension, minus, symbol, times } from '../graph/dimension.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { add, gatherRows, matmul, pad, reshape, slice, softmax, where } from '../graph/ops.ts'
import { outputDrawing } from './drawing.ts'

const BATCH = symbol('batch')
const LENGTH = symbol('length')
const CAPACITY = symbol('capacity')
const PROMPTS = symbol('prompts')
const KEPT = symbol('kept')
const SHARED = symbol('shared')
const NEXT_CAPACITY = symbol('nextCapacity')

const cacheShape = ({ kvHeads, headWidth }: DecoderSpec) => [BATCH, kvHeads, CAPACITY, headWidth]

/**
 * Bias of each layer's scores over the cache, [B, 1, 1, T]. Inputs: `cacheBias` [B, T] and, for a model with sliding
 * windows, `localBias` [B, T], in which tokens outside the window are also masked.
 */
function cacheBiases(
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
 * Decodes one token for each of B sequences. Inputs: `tokens` int32 [B], `positions` int64 [B, 1], `writes` [B, T] (1
 * at the new token's position), `cacheBias` [B, T] (0 at every token, including the new one; a large negative number
 * elsewhere), `localBias` (see `cacheBiases`) and per layer `keys.i`, `values.i` [B, kvHeads, T, headWidth]. Outputs:
 * `logits` [B, V], or with `draws` what `outputDrawing` says, and per layer `newKeys.i`, `newValues.i`, the caches with
 * the new tokens.
 */
export function buildDecode(spec: DecoderSpec, { draws }: { draws: boolean }): Graph {
  const { kvHeads, heads, headWidth } = spec
  const share = heads / kvHeads
  const graph = new Graph('decode')
  const parameters = declareParameters(graph, spec)
  const tokens = graph.input('tokens', 'int32', [BATCH])
  const positions = graph.input('positions', 'int64', [BATCH, 1])
  const writes = reshape(graph.input('writes', 'float32', [BATCH, CAPACITY]), [BATCH, 1, CAPACITY, 1])
  const biasOf = cacheBiases(graph, spec, [BATCH, CAPACITY])

  const updated = (name: string, layer: number, added: Value): Value => {
    const old = graph.input(`${name}.${layer}`, 'float32', cacheShape(spec))
    const next = where(writes, reshape(added, [BATCH, kvHeads, 1, headWidth]), old)
    graph.output(`${name === 'keys' ? 'newKeys' : 'newValues'}.${layer}`, next)
    return next
  }
  let x = embed(parameters, spec, tokens)
  for (let layer = 0; layer < spec.layers; layer++) {
    const normed = inputNorm(parameters, spec, layer, x)
    const rotary: Rotary = { positions, ...rotaryInputs(graph, spec, CAPACITY, layer) }
    const q = project(parameters, spec, layer, 'q', normed, rotary)
    const keys = updated('keys', layer, project(parameters, spec, layer, 'k', normed, rotary))
    const values = updated('values', layer, project(parameters, spec, layer, 'v', normed, rotary))
    const queries = scaled(reshape(q, [BATCH, kvHeads, share, headWidth]), spec)
    const weights = softmax(add(scoresOf(queries, keys, spec), biasOf(layer)))
    const context = reshape(matmul(weights, values), [BATCH, heads * headWidth])
    x = finishLayer(parameters, spec, layer, x, context)
  }
  const logits = unembed(parameters, spec, x)
  if (draws) outputDrawing(graph, logits)
  else graph.output('logits', logits)
  return graph
}

/**
 * Loads prompts into slots. Inputs: per layer the caches as above and `keys.i.prompt`, `values.i.prompt`
 * [P, kvHeads, L, headWidth]; `source` int32 [B] (the prompt of each slot), `fresh` [B] (1 where a slot gets its
 * prompt). Outputs: the caches, as above.
 */
export function buildLoad(spec: DecoderSpec): Graph {
  const { kvHeads, headWidth } = spec
  const graph = new Graph('load')
  const source = graph.input('source', 'int32', [BATCH])
  const fresh = reshape(graph.input('fresh', 'float32', [BATCH]), [BATCH, 1, 1, 1])
  const width = times(kvHeads, LENGTH, headWidth)
  each(spec, (name, layer, output) => {
    const old = graph.input(`${name}.${layer}`, 'float32', cacheShape(spec))
    const prompt = graph.input(`${name}.${layer}.prompt`, 'float32', [PROMPTS, kvHeads, LENGTH, headWidth])
    const taken = gatherRows(reshape(prompt, [PROMPTS, width]), source)
    const placed = pad(reshape(taken, [BATCH, kvHeads, LENGTH, headWidth]), 2, 0, minus(CAPACITY, LENGTH))
    graph.output(output, where(fresh, placed, old))
  })
  return graph
}

/**
 * Keeps the caches of some slots and changes the capacity. Inputs: the caches and `slots` int32 [K]. Outputs: as above,
 * but with K instead of B and a capacity U instead of T; the first S tokens are copied from the old caches.
 */
export function buildResize(spec: DecoderSpec): Graph {
  const graph = new Graph('resize')
  const slots = graph.input('slots', 'int32', [KEPT])
  const [, ...rest] = cacheShape(spec)
  each(spec, (name, layer, output) => {
    const old = graph.input(`${name}.${layer}`, 'float32', cacheShape(spec))
    const taken = reshape(gatherRows(reshape(old, [BATCH, times(...rest)]), slots), [KEPT, ...rest])
    graph.output(output, pad(slice(taken, 2, 0, SHARED), 2, 0, minus(NEXT_CAPACITY, SHARED)))
  })
  return graph
}

function each({ layers }: DecoderSpec, visit: (name: string, layer: number, output: string) => void): void {
  for (let layer = 0; layer < layers; layer++) {
    visit('keys', layer, `newKeys.${layer}`)
    visit('values', layer, `newValues.${layer}`)
  }
}
