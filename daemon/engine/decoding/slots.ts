// The slots of the cache, each with the sequence that is decoded in it. Their number grows and shrinks with the number of
// sequences.

import type { Draw } from '../sampling/draw.ts'
import type { Sequence } from '../sampling/writer.ts'
import type { Member } from './member.ts'
import type { CacheSize, LoadedPrompt, SequenceCache } from './sequence-cache.ts'

/** Most sequences side by side, if a call does not say. */
export const DEFAULT_SLOTS = 64

/** The cache shrinks only after this many steps in which a smaller one would do: more sequences may come soon. */
const PATIENCE = 4

export interface Slot {
  member: Member
  sequence: Sequence
  position: number
  /** Its prompt is in the cache. */
  isLoaded?: boolean
  /** The weights have changed since the sequence began. */
  isMixed?: boolean
}

/** What is running and waiting. */
export interface Demand {
  /** Sequences that should be decoded side by side. */
  sequences: number
  /** Most tokens that any of them may reach, prompt included. */
  longest: number
}

export interface Slots {
  readonly all: readonly (Slot | undefined)[]
  /** Throws before the first `fit`. */
  readonly cache: SequenceCache
  /** Indices of the slots with a sequence. */
  live(): number[]
  put(index: number, slot: Slot): void
  /** Frees a slot. With `keeps`, a conversation's keys and values stay for its next call. */
  vacate(index: number, options: { keeps: boolean }): void
  /** Call when the weights have changed. */
  mix(): void
  fit(demand: Demand): Promise<void>
  load(entries: readonly LoadedPrompt[]): Promise<void>
  /** Decodes one step. Returns what `Sequence.accept` takes for each slot. */
  decode(): Promise<(index: number) => Float32Array | Draw>
  close(): void
}

export function createSlots({ createCache }: { createCache(size: CacheSize): SequenceCache }): Slots {
  let slots: (Slot | undefined)[] = []
  let cache: SequenceCache | undefined
  let spareSteps = 0

  const live = (): number[] => slots.flatMap((slot, index) => (slot ? [index] : []))

  return {
    get all() {
      return slots
    },
    get cache() {
      if (!cache) throw new Error('there is no cache yet')
      return cache
    },
    live,
    put(index, slot) {
      slots[index] = slot
    },
    vacate(index, { keeps }) {
      const { member, sequence, position, isLoaded, isMixed } = slots[index]!
      if (keeps && isLoaded && member.call.request.isConversation && !isMixed) {
        const { tokens } = member.promptOf[sequence.sample]!
        const held = new Int32Array(position)
        held.set(tokens)
        held.set(sequence.finish().tokens.subarray(0, position - tokens.length), tokens.length)
        cache!.keep?.(index, held)
      }
      slots[index] = undefined
      cache!.clear(index)
    },
    mix() {
      for (const slot of slots) if (slot) slot.isMixed = true
    },
    async fit({ sequences, longest }) {
      const wanted = batchFor(sequences)
      if (!cache) {
        cache = createCache({ slots: wanted, capacity: longest })
        slots = new Array(wanted).fill(undefined)
        return
      }
      const isSmall = wanted > cache.slots || longest > cache.capacity
      const isLarge = wanted <= cache.slots / 2 || longest <= cache.capacity / 2
      spareSteps = isLarge ? spareSteps + 1 : 0
      if (!isSmall && spareSteps < PATIENCE) return
      const size = {
        slots: isSmall ? Math.max(wanted, cache.slots) : wanted,
        capacity: isSmall ? Math.max(longest, cache.capacity) : longest,
      }
      const kept = live()
      await cache.resize(kept, size)
      slots = Array.from({ length: size.slots }, (_, i) => slots[kept[i] ?? -1])
      spareSteps = 0
    },
    async load(entries) {
      if (entries.length > 0) await cache!.load(entries)
      for (const { slot } of entries) slots[slot]!.isLoaded = true
    },
    async decode() {
      const tokens = Int32Array.from(slots, (slot) => slot?.sequence.last ?? 0)
      const positions = Int32Array.from(slots, (slot) => slot?.position ?? -1)
      const points = slots.map((slot) => slot?.sequence.point())
      if (cache!.draw && slots.every((slot, index) => !slot || points[index])) {
        const draws = await cache!.draw(tokens, positions, points)
        return (index) => draws[index]!
      }
      const logits = await cache!.decode(tokens, positions)
      const vocabulary = logits.length / tokens.length
      return (index) => logits.subarray(index * vocabulary, (index + 1) * vocabulary)
    },
    close() {
      cache?.close()
    },
  }
}

/** Batch sizes are powers of two up to 8, then multiples of 8, so that few different sizes occur. */
function batchFor(sequences: number): number {
  return sequences > 8 ? 8 * Math.ceil(sequences / 8) : 2 ** Math.ceil(Math.log2(Math.max(1, sequences)))
}
