// A KV cache in the host's memory: a table of prompts, and what each sequence has written, which grows. A step reads keys
// and values in place and returns only those of the new tokens, which are then written into the cache.

import type { DecoderSpec } from '../../decoder.ts'
import { createCacheMask, fedPositions, localBias } from '../../decoding/cache-mask.ts'
import type { CacheSize, PromptTokens, ReadPrompt, SequenceCache } from '../../decoding/sequence-cache.ts'
import type { Feeds } from '../runtime/runtime.ts'
import type { KeptSequences, Piece } from './kept.ts'
import { createPromptTable } from './prompt-table.ts'
import { graphFor, type ReadingParts, readBeginning, readPrompts, takeUnlike } from './reading.ts'
import { cutRow, freeArrays, lengthOf, type Rows } from './rows.ts'

interface HostPrompt extends ReadPrompt {
  pieces: readonly Piece[]
}

interface CacheParts extends ReadingParts {
  kept: KeptSequences
}

type Model = { spec: DecoderSpec }

/** Room for written tokens is a multiple of this, and grows by this factor. A step takes time for all of it. */
const STRIDE = 32
const GROWTH = 1.25

export function createHostCache({ spec, ...size }: Model & CacheSize, parts: CacheParts): SequenceCache {
  const { layers, kvHeads, headWidth } = spec
  const { kept } = parts
  let { capacity } = size
  const mask = createCacheMask({ slots: size.slots, capacity: STRIDE })
  const layerSize = size.slots * kvHeads * STRIDE * headWidth
  const makeLayers = (): Float32Array[] => Array.from({ length: layers }, () => new Float32Array(layerSize))
  const rows: Rows = { capacity: STRIDE, keys: makeLayers(), values: makeLayers() }
  const prompts = createPromptTable(spec, size.slots)
  const feeds: Feeds = { ...parts.weights }
  const resize = (kept: readonly number[], slots: number, room: number): void => {
    resizeRows(rows, kept, { slots, capacity: room }, spec)
    mask.resize(kept, { slots, capacity: room })
  }

  return {
    get slots() {
      return mask.slots
    },
    get capacity() {
      return capacity
    },

    read: (prompts) => readAll(prompts, spec, parts),

    async load(entries) {
      prompts.load(entries.map(({ slot, prompt }) => ({ slot, pieces: (prompt as HostPrompt).pieces })))
      for (const { slot } of entries) mask.hold(slot, 0)
    },

    keep(slot, tokens) {
      const written = cutRow(rows, slot, [0, tokens.length - prompts.lengthOf(slot)], spec)
      kept.keep(tokens, [...prompts.piecesOf(slot), { stretch: written, used: written.length }])
    },

    async decode(tokens, positions) {
      const { slots } = mask
      // Where each token comes among those that its sequence has written; negative in an empty slot.
      const written = positions.map((position, slot) => position - prompts.lengthOf(slot))
      const longest = Math.max(...written) + 1
      if (longest > mask.capacity) {
        const most = Math.max(
          ...written.map((index, slot) => (index < 0 ? 0 : capacity - prompts.lengthOf(slot))),
        )
        const room = STRIDE * Math.ceil((GROWTH * longest) / STRIDE)
        resize([...Array(slots).keys()], slots, Math.max(longest, Math.min(room, most)))
      }
      const graph = await graphFor(slots, spec, parts)
      const near = localBias(spec, mask, written)
      Object.assign(feeds, prompts.feeds(positions), {
        tokens,
        positions: fedPositions(positions),
        last: Int32Array.from({ length: slots }, (_, row) => row),
        pastBias: mask.bias,
        ...(near && { localPastBias: near }),
      })
      for (let layer = 0; layer < layers; layer++) {
        feeds[`keys.${layer}`] = rows.keys[layer]!
        feeds[`values.${layer}`] = rows.values[layer]!
      }
      const out = await graph.run(feeds, { batch: slots, length: 1, past: mask.capacity, ...prompts.sizes })
      positions.forEach((position, slot) => {
        if (position < 0) return
        writeStep(rows, slot, written[slot]!, out, spec)
        mask.add(slot, written[slot]!)
      })
      return out.logits!
    },

    clear(slot) {
      prompts.clear(slot)
      mask.hold(slot, 0)
    },

    async resize(kept, next) {
      resize(kept, next.slots, mask.capacity)
      prompts.resize(kept, next.slots)
      capacity = next.capacity
    },

    close() {
      prompts.close()
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
