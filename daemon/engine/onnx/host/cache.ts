// A KV cache in the host's memory. A step reads keys and values in place and returns only those of the new tokens,
// which are then written into the cache. Nothing else is copied.

import type { DecoderSpec } from '../../decoder.ts'
import type { CacheSize, PromptTokens, ReadPrompt, SequenceCache } from '../decoding/sequence-cache.ts'
import type { Feeds } from '../runtime/runtime.ts'
import type { KeptSequences, Piece } from './kept.ts'
import { graphFor, MASKED, type ReadingParts, readBeginning, readPrompts, takeUnlike } from './reading.ts'
import { copyPieces, cutRow, lengthOf, type Rows } from './rows.ts'

interface HostPrompt extends ReadPrompt {
  pieces: readonly Piece[]
}

interface CacheRows extends Rows {
  batch: number
  /** [batch, capacity] */
  bias: Float32Array
  /** The keys and values of each slot's prompt. */
  pieces: (readonly Piece[])[]
}

export function createHostCache(
  { spec, ...size }: { spec: DecoderSpec } & CacheSize,
  { kept, ...parts }: ReadingParts & { kept: KeptSequences },
): SequenceCache {
  const { layers, kvHeads, headWidth } = spec
  const makeLayer = ({ slots, capacity }: CacheSize): Float32Array =>
    new Float32Array(slots * kvHeads * capacity * headWidth)
  const makeBias = ({ slots, capacity }: CacheSize): Float32Array =>
    new Float32Array(slots * capacity).fill(MASKED)
  const makeLayers = (): Float32Array[] => Array.from({ length: layers }, () => makeLayer(size))
  const memory: CacheRows = {
    batch: size.slots,
    capacity: size.capacity,
    bias: makeBias(size),
    keys: makeLayers(),
    values: makeLayers(),
    pieces: [],
  }

  const feeds: Feeds = { ...parts.weights }

  /** Writes the new tokens' keys and values at their positions. */
  const store = (slot: number, position: number, out: Record<string, Float32Array>): void => {
    for (let layer = 0; layer < layers; layer++) {
      const keys = out[`newKeys.${layer}`]!
      const values = out[`newValues.${layer}`]!
      for (let h = 0; h < kvHeads; h++) {
        const from = (slot * kvHeads + h) * headWidth
        const to = ((slot * kvHeads + h) * memory.capacity + position) * headWidth
        for (let i = 0; i < headWidth; i++) {
          memory.keys[layer]![to + i] = keys[from + i]!
          memory.values[layer]![to + i] = values[from + i]!
        }
      }
    }
    memory.bias[slot * memory.capacity + position] = 0
  }

  return {
    get slots() {
      return memory.batch
    },
    get capacity() {
      return memory.capacity
    },

    async read(prompts) {
      const read = new Map<PromptTokens, HostPrompt>()
      for (let left = prompts; left.length > 0; left = left.filter((prompt) => !read.has(prompt))) {
        const some = takeUnlike(
          left.map((prompt) => ({
            ...prompt,
            prompt,
            past: prompt.isConversation ? kept.beginningOf(prompt.tokens) : [],
          })),
        )
        const begun: typeof some = []
        for (const one of some) begun.push({ ...one, past: [...(await readBeginning(one, spec, parts))] })
        const done = await readPrompts(begun, spec, parts)
        some.forEach(({ prompt, tokens, past, isConversation }, i) => {
          const { logits, stretch } = done[i]!
          const pieces = [...begun[i]!.past, { stretch, used: stretch.length }]
          if (isConversation) kept.keep(tokens, pieces)
          read.set(prompt, {
            length: tokens.length,
            reused: lengthOf(past),
            logits,
            pieces,
            release() {
              this.pieces = []
            },
          })
        })
      }
      return prompts.map((prompt) => read.get(prompt)!)
    },

    async load(entries) {
      const { capacity } = memory
      for (const { slot, prompt } of entries) {
        const { length, pieces } = prompt as HostPrompt
        copyPieces(pieces, memory, slot, spec)
        memory.bias.fill(MASKED, slot * capacity, (slot + 1) * capacity)
        memory.bias.fill(0, slot * capacity, slot * capacity + length)
        memory.pieces[slot] = pieces
      }
    },

    keep(slot, tokens) {
      const pieces = memory.pieces[slot]!
      const from = lengthOf(pieces)
      const written = cutRow(memory, slot, [from, tokens.length], spec)
      kept.keep(tokens, [...pieces, { stretch: written, used: written.length }])
    },

    async decode(tokens, positions) {
      const { batch, capacity } = memory
      const graph = await graphFor(batch, spec, parts)
      const near = localBias(spec, memory.bias, positions, capacity)
      Object.assign(feeds, {
        tokens,
        positions: BigInt64Array.from(positions, (position) => BigInt(Math.max(0, position))),
        last: Int32Array.from({ length: batch }, (_, row) => row),
        pastBias: memory.bias,
        ...(near && { localPastBias: near }),
      })
      for (let layer = 0; layer < layers; layer++) {
        feeds[`keys.${layer}`] = memory.keys[layer]!
        feeds[`values.${layer}`] = memory.values[layer]!
      }
      const out = await graph.run(feeds, { batch, length: 1, past: capacity })
      positions.forEach((position, slot) => {
        if (position >= 0) store(slot, position, out)
      })
      return out.logits!
    },

    clear(slot) {
      const { capacity } = memory
      memory.pieces[slot] = []
      memory.bias.fill(MASKED, slot * capacity, (slot + 1) * capacity)
    },

    async resize(kept, { slots, capacity }) {
      const shared = Math.min(capacity, memory.capacity)
      const next = (layer: Float32Array): Float32Array => {
        const made = makeLayer({ slots, capacity })
        kept.forEach((from, to) => {
          for (let h = 0; h < kvHeads; h++) {
            const at = (from * kvHeads + h) * memory.capacity * headWidth
            made.set(layer.subarray(at, at + shared * headWidth), (to * kvHeads + h) * capacity * headWidth)
          }
        })
        return made
      }
      // Layer by layer, so that at most one layer is in memory twice.
      for (const which of [memory.keys, memory.values])
        for (let layer = 0; layer < layers; layer++) which[layer] = next(which[layer]!)
      const bias = makeBias({ slots, capacity })
      kept.forEach((from, to) => {
        const at = from * memory.capacity
        bias.set(memory.bias.subarray(at, at + shared), to * capacity)
      })
      const pieces = kept.map((from) => memory.pieces[from]!)
      Object.assign(memory, { batch: slots, capacity, bias, pieces })
    },

    close() {},
  }
}

/** `bias` [slots, capacity], with tokens outside the sliding window also masked; undefined if there is no window. */
export function localBias(
  { local }: DecoderSpec,
  bias: Float32Array,
  positions: Int32Array,
  capacity: number,
): Float32Array | undefined {
  if (!local) return undefined
  const near = bias.slice()
  positions.forEach((position, slot) => {
    const oldest = Math.max(0, position - local.window + 1)
    near.fill(MASKED, slot * capacity, slot * capacity + oldest)
  })
  return near
}
