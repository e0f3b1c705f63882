// The sampling graph: reads new tokens of sequences whose earlier keys and values are known. Reading a prompt and
// decoding use the same graph: the one reads many new tokens with no past, the other reads one new token with a long
// past. The past is not copied: each run takes it as an input and returns only the new tokens' keys and values.
// Attention to the past and attention to the new tokens are separate matmuls, joined in one softmax.

import { type DecoderSpec, windowOf } from '../../decoder.ts'
import { type Dimension, plus, symbol, times } from '../graph/dimension.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { gatherRows, type StoredOptions } from '../graph/ops.ts'
import { byHead, causalities, type Past, prefixAttention } from './attention.ts'
import { causalBias } from './bias.ts'
import type { Rotary } from './blocks.ts'
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
const SHARED = symbol('shared')
const PROMPTS = symbol('prompts')
const SEATS = symbol('seats')

interface SamplingOptions extends Pick<StoredOptions, 'packing'> {
  /** There are known tokens before the new ones, */
  hasPast: boolean
  /** and before these, tokens that sequences share. */
  isShared?: boolean
}

/**
 * Reads T new tokens of each of B sequences, padded at the end. Inputs: `tokens` int32 [B * T], `positions` int64
 * [B * T, 1], `last` int32 [B] (the row of each sequence's last token). Outputs: `logits` [B, V] after the last tokens,
 * and per layer `newKeys.i`, `newValues.i` [B, kvHeads, T, headWidth].
 *
 * With `hasPast`, P earlier tokens are known, and with `isShared` S before these, which sequences share. Further
 * inputs: per layer `keys.i`, `values.i` [B, kvHeads, P, headWidth]; `pastBias` [B, T, P] (0 where a new token attends
 * to a past one, a large negative number elsewhere); and `localPastBias`, the same for the layers of a model with
 * sliding windows. In the same way `sharedKeys.i`, `sharedValues.i` [N, kvHeads, S, headWidth], `sharedBias` and
 * `localSharedBias` [B, T, S]; `members` int32 [N * M] (the sequence in each of the M seats of a row; any in a free
 * one), `places` int32 [B] (the seat of each sequence; any for one without) and `seated` [B] (1 for one with a seat,
 * else 0).
 */
export function buildSampling(
  spec: DecoderSpec,
  { hasPast, isShared = false, ...stored }: SamplingOptions,
): Graph {
  const [batch, length] = [BATCH, LENGTH]
  const graph = new Graph('sampling')
  const parameters = declareParameters(graph, spec, stored)
  const tokens = graph.input('tokens', 'int32', [times(batch, length)])
  const positions = graph.input('positions', 'int64', [times(batch, length), 1])
  const last = graph.input('last', 'int32', [batch])
  const pastOf = hasPast ? declarePast(graph, spec, isShared) : () => undefined
  const farthest = plus(isShared ? SHARED : 0, hasPast ? PAST : 0, length)
  const whole = [{ from: 0, to: length }]
  const causalityOf = causalities(spec, whole, (window) => causalBias(graph, whole, window))
  let x = embed(parameters, spec, tokens)
  for (let layer = 0; layer < spec.layers; layer++) {
    const normed = inputNorm(parameters, spec, layer, x)
    const rotary: Rotary = { positions, ...rotaryInputs(graph, spec, farthest, layer) }
    const q = project(parameters, spec, layer, 'q', normed, rotary)
    const k = project(parameters, spec, layer, 'k', normed, rotary)
    const v = project(parameters, spec, layer, 'v', normed, rotary)
    graph.output(`newKeys.${layer}`, byHead(k, batch, length, spec))
    graph.output(`newValues.${layer}`, byHead(v, batch, length, spec))
    const context = prefixAttention(spec, [batch, length], [q, k, v], causalityOf(layer), pastOf(layer))
    x = finishLayer(parameters, spec, layer, x, context)
  }
  graph.output('logits', unembed(parameters, spec, gatherRows(x, last)))
  return graph
}

/** Declares the inputs for the past. Returns the past of a layer. */
function declarePast(graph: Graph, spec: DecoderSpec, isShared: boolean): (layer: number) => Past {
  const { kvHeads, headWidth } = spec
  const biasesOf = (name: string, length: Dimension): ((layer: number) => Value) => {
    const full = graph.input(`${name}Bias`, 'float32', [BATCH, LENGTH, length])
    const localName = `local${name[0]!.toUpperCase()}${name.slice(1)}Bias`
    const near = spec.local ? graph.input(localName, 'float32', [BATCH, LENGTH, length]) : full
    return (layer) => (windowOf(spec, layer) === undefined ? full : near)
  }
  const tokensIn = (
    keys: string,
    values: string,
    [rows, length]: [Dimension, Dimension],
    biasOf: (layer: number) => Value,
  ) => {
    const shape = [rows, kvHeads, length, headWidth]
    return (layer: number) => ({
      length,
      keys: graph.input(`${keys}.${layer}`, 'float32', shape),
      values: graph.input(`${values}.${layer}`, 'float32', shape),
      bias: biasOf(layer),
    })
  }
  const own = tokensIn('keys', 'values', [BATCH, PAST], biasesOf('past', PAST))
  if (!isShared) return (layer) => ({ own: own(layer), shared: undefined })
  const shared = tokensIn('sharedKeys', 'sharedValues', [PROMPTS, SHARED], biasesOf('shared', SHARED))
  const seats = {
    ...{ rows: PROMPTS, seats: SEATS },
    members: graph.input('members', 'int32', [times(PROMPTS, SEATS)]),
    places: graph.input('places', 'int32', [BATCH]),
    seated: graph.input('seated', 'float32', [BATCH]),
  }
  return (layer) => ({ own: own(layer), shared: { ...seats, ...shared(layer) } })
}
