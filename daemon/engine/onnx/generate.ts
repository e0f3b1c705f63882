// The sampling loop: prefills each distinct prompt once, decodes many sequences side by side, refills a slot as
// soon as its sequence ends, and narrows the batch when nothing is left to refill it with.

import type { Steering } from '../core.ts'
import type { DecoderSpec } from '../decoder.ts'
import type { GenerateRequest, Sample } from '../engine.ts'
import { checkPrompts } from '../inputs.ts'
import { createEndings } from '../sampling/endings.ts'
import type { Sequence, Writer } from '../sampling/writer.ts'
import { DEFAULT_SLOTS } from './room.ts'
import type { ReadPrompt, SequenceCache } from './sequence-cache.ts'

/** Prompts per prefill. */
const PREFILL_BATCH = 16

interface Prompt {
  tokens: Int32Array
  /** Samples that have not started. */
  waiting: number
  read?: ReadPrompt
}

interface Slot {
  sequence: Sequence
  position: number
}

export async function generate(
  request: GenerateRequest,
  {
    spec,
    createCache,
    steering,
    write,
  }: {
    spec: DecoderSpec
    createCache: (sizes: { slots: number; capacity: number }) => SequenceCache
    steering: Steering
    write: Writer
  },
): Promise<Sample[]> {
  const { samples } = request
  const { vocabulary } = spec
  const longest = checkPrompts(request, spec)
  const endings = createEndings(samples.length, { write, steering })

  // Samples in the order of their prompts, so that a prompt's keys and values can be dropped early.
  const prompts = new Map<string, Prompt>()
  const promptOf = samples.map(({ prompt }) => {
    const key = Buffer.from(prompt.buffer, prompt.byteOffset, prompt.byteLength).toString('base64')
    const known: Prompt = prompts.get(key) ?? { tokens: prompt, waiting: 0 }
    known.waiting += 1
    prompts.set(key, known)
    return known
  })
  const order = samples.map((_, i) => i)
  const rank = new Map([...prompts.values()].map((prompt, i) => [prompt, i]))
  order.sort((a, b) => rank.get(promptOf[a]!)! - rank.get(promptOf[b]!)! || a - b)
  const unread = [...prompts.values()]
  let next = 0

  const cache = createCache({
    slots: batchFor(Math.min(samples.length, request.slots ?? DEFAULT_SLOTS)),
    capacity: longest,
  })
  let slots: (Slot | undefined)[] = new Array(cache.slots).fill(undefined)

  /** Called after the weights change: prompts that are still needed are prefilled again. */
  const forget = (): void => {
    const stale = [...prompts.values()].filter(({ read }) => read)
    for (const prompt of stale) {
      prompt.read!.release()
      delete prompt.read
    }
    unread.unshift(...stale.filter(({ waiting }) => waiting > 0))
  }

  /** Frees the slot of a running sequence and returns the sequence. */
  const vacate = (sample: number): Sequence | undefined => {
    const index = slots.findIndex((slot) => slot?.sequence.sample === sample)
    const slot = slots[index]
    if (!slot) return undefined
    slots[index] = undefined
    cache.clear(index)
    return slot.sequence
  }

  const read = async (prompt: Prompt): Promise<ReadPrompt> => {
    if (!prompt.read) {
      const batch = unread.splice(0, PREFILL_BATCH)
      const done = await cache.read(batch.map(({ tokens }) => tokens))
      batch.forEach((one, i) => {
        one.read = done[i]!
      })
    }
    return prompt.read!
  }

  /** Puts waiting samples into free slots. A sequence may end with its first token, so a slot is tried again. */
  const refill = async (): Promise<void> => {
    const entries: { slot: number; prompt: ReadPrompt }[] = []
    const used: Prompt[] = []
    for (let index = 0; index < slots.length; index++) {
      while (slots[index] === undefined && next < order.length) {
        const sample = order[next++]!
        const prompt = promptOf[sample]!
        if (!endings.has(sample)) {
          const known = await read(prompt)
          const sequence = write(sample)
          if (sequence.accept(known.logits)) endings.end(sequence)
          else {
            entries.push({ slot: index, prompt: known })
            slots[index] = { sequence, position: known.length }
          }
        }
        prompt.waiting -= 1
        if (prompt.waiting === 0) used.push(prompt)
      }
    }
    if (entries.length > 0) await cache.load(entries)
    for (const { read } of used) read?.release()
  }

  try {
    for (;;) {
      if (endings.isAborted()) break
      endings.takeCuts(vacate)
      if (await steering.takeWeights?.()) forget()
      await refill()
      const live = slots.flatMap((slot, index) => (slot ? [index] : []))
      if (live.length === 0) break
      const narrower = batchFor(live.length)
      if (narrower <= cache.slots / 2) {
        await cache.narrow(live, narrower)
        slots = Array.from({ length: narrower }, (_, i) => slots[live[i] ?? -1])
      }

      const tokens = Int32Array.from(slots, (slot) => slot?.sequence.last ?? 0)
      const positions = Int32Array.from(slots, (slot) => slot?.position ?? -1)
      const logits = await cache.decode(tokens, positions)
      slots.forEach((slot, index) => {
        if (!slot) return
        slot.position += 1
        const { sequence } = slot
        if (!sequence.accept(logits.subarray(index * vocabulary, (index + 1) * vocabulary))) return
        vacate(sequence.sample)
        endings.end(sequence)
      })
    }
  } finally {
    for (const prompt of prompts.values()) prompt.read?.release()
    cache.close()
  }
  for (const slot of slots) if (slot) endings.end(slot.sequence)
  return endings.results()
}

/** Batch sizes are powers of two, so that few different sizes occur. */
function batchFor(sequences: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, sequences)))
}
