// A KV cache in the host's memory. A step reads keys and values in place and returns only those of the new tokens,
// which are then written into the cache. Nothing else is copied.

import type { DecoderSpec } from '../../decoder.ts'
import { createCacheMask, fedPositions, localBias } from '../../decoding/cache-mask.ts'
import type { CacheSize, PromptTokens, ReadPrompt, SequenceCache } from '../../decoding/sequence-cache.ts'
import type { Feeds } from '../runtime/runtime.ts'
import type { KeptSequences, Piece } from './kept.ts'
import { graphFor, type ReadingParts, readBeginning, readPrompts, takeUnlike } from './reading.ts'
import { copyPieces, cutRow, freeArrays, lengthOf, type Rows } from './rows.ts'

interface HostPrompt extends ReadPrompt {
  pieces: readonly Piece[]
}

interface CacheParts extends ReadingParts {
  kept: KeptSequences
}

type Model = { spec: DecoderSpec }

export function createHostCache({ spec, ...size }: Model & CacheSize, parts: CacheParts): SequenceCache {
  const { layers, kvHeads, headWidth } = spec
  const { kept } = parts
  const mask = createCacheMask(size)
  const layerSize = size.slots * kvHeads * size.capacity * headWidth
  const makeLayers = (): Float32Array[] => Array.from({ length: layers }, () => new Float32Array(layerSize))
  const rows: Rows = { capacity: size.capacity, keys: makeLayers(), values: makeLayers() }
  /** The keys and values of each slot's prompt. */
  let pieces: (readonly Piece[])[] = []
  const feeds: Feeds = { ...parts.weights }

  return {
    get slots() {
      return mask.slots
    },
    get capacity() {
      return mask.capacity
    },

    read: (prompts) => readAll(prompts, spec, parts),

    async load(entries) {
      for (const { slot, prompt } of entries) {
        pieces[slot] = (prompt as HostPrompt).pieces
        copyPieces(pieces[slot], rows, slot, spec)
        mask.hold(slot, prompt.length)
      }
    },

    keep(slot, tokens) {
      const from = lengthOf(pieces[slot]!)
      const written = cutRow(rows, slot, [from, tokens.length], spec)
      kept.keep(tokens, [...pieces[slot]!, { stretch: written, used: written.length }])
    },

    async decode(tokens, positions) {
      const { slots, capacity, bias } = mask
      const graph = await graphFor(slots, spec, parts)
      const near = localBias(spec, mask, positions)
      Object.assign(feeds, {
        tokens,
        positions: fedPositions(positions),
        last: Int32Array.from({ length: slots }, (_, row) => row),
        pastBias: bias,
        ...(near && { localPastBias: near }),
      })
      for (let layer = 0; layer < layers; layer++) {
        feeds[`keys.${layer}`] = rows.keys[layer]!
        feeds[`values.${layer}`] = rows.values[layer]!
      }
      const out = await graph.run(feeds, { batch: slots, length: 1, past: capacity })
      positions.forEach((position, slot) => {
        if (position < 0) return
        writeStep(rows, slot, position, out, spec)
        mask.add(slot, position)
      })
      return out.logits!
    },

    clear(slot) {
      pieces[slot] = []
      mask.hold(slot, 0)
    },

    async resize(kept, size) {
      resizeRows(rows, kept, size, spec)
      mask.resize(kept, size)
      pieces = kept.map((from) => pieces[from]!)
    },

    close() {
      freeArrays([...rows.keys, ...rows.values])
    },
  }
}

/** Reads prompts. Of those that begin alike, one is read first, and its beginning is kept for the others. */
async function readAll(
  prompts: readonly PromptTokens[],
  spec: DecoderSpec,
  { kept, ...parts }: CacheParts,
): Promise<ReadPrompt[]> {
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
}

/** Writes the new token's keys and values at its position. */
function writeStep(
  rows: Rows,
  slot: number,
  position: number,
  out: Record<string, Float32Array>,
  { layers, kvHeads, headWidth }: DecoderSpec,
): void {
  for (let layer = 0; layer < layers; layer++) {
    const keys = out[`newKeys.${layer}`]!
    const values = out[`newValues.${layer}`]!
    for (let h = 0; h < kvHeads; h++) {
      const from = (slot * kvHeads + h) * headWidth
      const to = ((slot * kvHeads + h) * rows.capacity + position) * headWidth
      for (let i = 0; i < headWidth; i++) {
        rows.keys[layer]![to + i] = keys[from + i]!
        rows.values[layer]![to + i] = values[from + i]!
      }
    }
  }
}

/** Layer by layer, so that at most one layer is in memory twice. */
function resizeRows(
  rows: Rows,
  kept: readonly number[],
  { slots, capacity }: CacheSize,
  { kvHeads, headWidth }: DecoderSpec,
): void {
  const shared = Math.min(capacity, rows.capacity)
  for (const which of [rows.keys, rows.values])
    which.forEach((layer, index) => {
      const made = new Float32Array(slots * kvHeads * capacity * headWidth)
      kept.forEach((from, to) => {
        for (let h = 0; h < kvHeads; h++) {
          const at = (from * kvHeads + h) * rows.capacity * headWidth
          made.set(layer.subarray(at, at + shared * headWidth), (to * kvHeads + h) * capacity * headWidth)
        }
      })
      which[index] = made
      freeArrays([layer])
    })
  rows.capacity = capacity
}
