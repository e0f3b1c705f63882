// A KV cache in the host's memory: a row of each sequence, which grows, and a table of the prompts that several share. A
// step reads keys and values in place and returns only those of the new tokens, which are then written into the cache.

import type { DecoderSpec } from '../../decoder.ts'
import { createCacheMask, fedPositions, localBias } from '../../decoding/cache-mask.ts'
import type { CacheSize, PromptTokens, ReadPrompt, SequenceCache } from '../../decoding/sequence-cache.ts'
import type { Feeds } from '../runtime/runtime.ts'
import type { KeptSequences, Piece } from './kept.ts'
import { createPromptTable } from './prompt-table.ts'
import { graphFor, type ReadingParts, readBeginning, readPrompts, takeUnlike } from './reading.ts'
import { copyPieces, cutRow, freeArrays, lengthOf, type Rows } from './rows.ts'

interface HostPrompt extends ReadPrompt {
  pieces: readonly Piece[]
}

interface CacheParts extends ReadingParts {
  kept: KeptSequences
}

type Model = { spec: DecoderSpec }

/** The tokens of a row are a multiple of this, and grow by this factor. A step takes time for all of them. */
const STRIDE = 32
const GROWTH = 1.25
const roomFor = (tokens: number): number => STRIDE * Math.max(1, Math.ceil(tokens / STRIDE))

export function createHostCache({ spec, ...size }: Model & CacheSize, parts: CacheParts): SequenceCache {
  const { layers, kvHeads, headWidth } = spec
  const { kept } = parts
  let { capacity } = size
  const mask = createCacheMask({ slots: size.slots, capacity: STRIDE })
  const layerSize = size.slots * kvHeads * STRIDE * headWidth
  const makeLayers = (): Float32Array[] => Array.from({ length: layers }, () => new Float32Array(layerSize))
  const rows: Rows = { capacity: STRIDE, keys: makeLayers(), values: makeLayers() }
  const prompts = createPromptTable(spec, size.slots)
  let pieces: (readonly Piece[])[] = []
  /** Tokens in each slot's row: what it has written, and its prompt if that is not in the table. */
  let held: number[] = new Array(size.slots).fill(0)
  const feeds: Feeds = { ...parts.weights }
  const resize = (kept: readonly number[], to: CacheSize): void => {
    resizeRows(rows, kept, to, spec)
    mask.resize(kept, to)
  }
  const makeRoom = (tokens: number): void => {
    if (tokens <= mask.capacity) return
    const room = Math.max(tokens, Math.min(roomFor(GROWTH * tokens), capacity))
    resize([...held.keys()], { slots: mask.slots, capacity: room })
  }

  return {
    get slots() {
      return mask.slots
    },
    get capacity() {
      return capacity
    },

    read: (prompts, isWanted) => readAll(prompts, spec, { ...parts, isWanted }),

    async load(entries) {
      for (const { slot, prompt } of entries) pieces[slot] = (prompt as HostPrompt).pieces
      prompts.load(entries.map(({ slot, waiting = 0 }) => ({ slot, pieces: pieces[slot]!, waiting })))
      for (const { slot, prompt } of entries) held[slot] = prompts.lengthOf(slot) > 0 ? 0 : prompt.length
      makeRoom(1 + Math.max(...held))
      for (const { slot } of entries) {
        if (held[slot]! > 0) copyPieces(pieces[slot]!, rows, slot, spec)
        mask.hold(slot, held[slot]!)
      }
    },

    keep(slot, tokens) {
      const before = prompts.lengthOf(slot)
      const written = cutRow(rows, slot, [lengthOf(pieces[slot]!) - before, tokens.length - before], spec)
      kept.keep(tokens, [...pieces[slot]!, { stretch: written, used: written.length }])
    },

    async decode(tokens, positions) {
      const { slots } = mask
      const inRow = positions.map((position, slot) => position - prompts.lengthOf(slot))
      makeRoom(1 + Math.max(...inRow))
      const graph = await graphFor({ rows: slots, isShared: prompts.sizes.shared > 0 }, spec, parts)
      const near = localBias(spec, mask, inRow)
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
        const at = inRow[slot]!
        writeStep(rows, slot, at, out, spec)
        mask.add(slot, at)
        held[slot] = at + 1
      })
      return out.logits!
    },

    clear(slot) {
      prompts.clear(slot)
      pieces[slot] = []
      held[slot] = 0
      mask.hold(slot, 0)
    },

    async resize(kept, next) {
      prompts.resize(kept, next.slots)
      const order = Array.from({ length: next.slots }, (_, to) => kept[to] ?? -1)
      pieces = order.map((from) => pieces[from] ?? [])
      held = order.map((from) => held[from] ?? 0)
      resize(kept, { slots: next.slots, capacity: roomFor(1 + Math.max(...held)) })
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
  { kept, isWanted, ...parts }: CacheParts & { isWanted: (() => boolean) | undefined },
): Promise<ReadPrompt[] | undefined> {
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
    for (const one of some) {
      const past = await readBeginning(one, spec, { ...parts, isWanted })
      if (!past) return undefined
      begun.push({ ...one, past: [...past] })
    }
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
