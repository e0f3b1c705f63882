// The whole decoder over groups of completions that share a prompt, for scoring and training. Segments attend to their
// group's prefix and causally to themselves, never to one another ("Prefix Grouper", Liu et al. 2025). The tokens of
// all segments and prefixes go through the linear layers as one matrix (`packing.ts`).

import type { DecoderSpec } from '../../decoder.ts'
import { ANY_BATCH, collect, type PackedInputs, SEGMENT_ROWS, spread } from '../batch/packing.ts'
import { type Once, once, stage } from '../graph/autodiff.ts'
import { plus } from '../graph/dimension.ts'
import type { Graph, Value } from '../graph/graph.ts'
import { slice } from '../graph/ops.ts'
import { causalities, prefixAttention, segmentAttention } from './attention.ts'
import { causalBias, segmentBias } from './bias.ts'
import type { Rotary } from './blocks.ts'
import {
  embed,
  finalNorm,
  finishLayer,
  inputNorm,
  type Parameters,
  project,
  rotaryInputs,
  trainedInLayer,
} from './decoder.ts'
import { type Parts, rangesOf } from './parts.ts'

export interface GroupOptions {
  /** Keep only the input of each layer, and recompute the rest in the backward pass (Chen et al. 2016). */
  checkpointing: boolean
  parts: Parts
}

/** The normed final residual stream of the blank token and all segments' tokens, [1 + segmentTokens, D]. */
export function groupHidden(
  graph: Graph,
  spec: DecoderSpec,
  parameters: Parameters,
  inputs: PackedInputs,
  { checkpointing, parts: { segments: segmentParts, prefixes: prefixParts } }: GroupOptions,
): Value {
  const { groups, prefix, segment } = ANY_BATCH
  const positionsOfSegments = slice(inputs.positions, 0, 0, SEGMENT_ROWS)
  const segmentRanges = rangesOf(graph, segment, 'segments', segmentParts)
  const ofSegments = causalities(spec, segmentRanges, (window) =>
    segmentBias(inputs.prefixBias, segmentRanges, window),
  )
  const prefixRanges = rangesOf(graph, prefix, 'prefixes', prefixParts)
  const ofPrefixes = causalities(spec, prefixRanges, (window) => causalBias(graph, prefixRanges, window))
  const { segments, prefixes } = inputs
  const parts = [segments, prefixes]

  const layer = (index: number, x: Value, kept: Record<'segments' | 'prefixes', Once>): Value => {
    const angles = rotaryInputs(graph, spec, plus(prefix, segment), index)
    const rotary: Rotary = { positions: inputs.positions, ...angles }
    const normed = inputNorm(parameters, spec, index, x)
    const inSlots = (which: 'k' | 'v') => {
      const [ofSegment, ofPrefix] = spread(project(parameters, spec, index, which, normed, rotary), parts)
      return { segments: ofSegment!, prefixes: ofPrefix! }
    }
    const k = inSlots('k')
    const v = inSlots('v')
    if (index === spec.layers - 1) {
      // The prefix is not needed beyond its keys and values in the last layer.
      const last = slice(normed, 0, 0, SEGMENT_ROWS)
      const own: Rotary = { positions: positionsOfSegments, ...angles }
      const [q] = spread(project(parameters, spec, index, 'q', last, own), [segments])
      const context = collect(
        [segmentAttention(spec, q!, k, v, { ...ofSegments(index), kept: kept.segments })],
        [segments],
      )
      return finishLayer(parameters, spec, index, slice(x, 0, 0, SEGMENT_ROWS), context)
    }
    const [ofSegment, ofPrefix] = spread(project(parameters, spec, index, 'q', normed, rotary), parts)
    const context = collect(
      [
        segmentAttention(spec, ofSegment!, k, v, { ...ofSegments(index), kept: kept.segments }),
        prefixAttention(spec, [groups, prefix], [ofPrefix!, k.prefixes, v.prefixes], {
          ...ofPrefixes(index),
          kept: kept.prefixes,
        }),
      ],
      parts,
    )
    return finishLayer(parameters, spec, index, x, context)
  }

  let x = embed(parameters, spec, inputs.tokens)
  for (let index = 0; index < spec.layers; index++) {
    const kept = { segments: once(), prefixes: once() }
    x = stage(x, trainedInLayer(parameters, spec, index), (input) => layer(index, input, kept), {
      recompute: checkpointing,
    })
  }
  return finalNorm(parameters, spec, x)
}
