// The sampling loop: prefills each distinct prompt once, decodes many sequences side by side, refills a slot as soon
// as its sequence ends, and narrows the batch when nothing is left to refill it with.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DecoderSpec } from '../decoder.ts'
import { draw } from '../draw.ts'
import type { DrawnToken, GenerateRequest, Sample } from '../engine.ts'
import { checkPrompts } from '../inputs.ts'
import { uniformAt } from '../random.ts'
import type { ReadPrompt, SequenceCache } from './sequence-cache.ts'

const DEFAULT_SLOTS = 64
/** Prompts read in one prefill. */
const PREFILL_BATCH = 16

interface Prompt {
  tokens: Int32Array
  /** Samples yet to be started. */
  waiting: number
  read?: ReadPrompt
}

interface Slot {
  sample: number
  position: number
  tokens: number[]
  logprobs: number[]
  policyLogprobs: number[]
  entropies: number[]
}

export async function generate(
  request: GenerateRequest,
  {
    spec,
    createCache,
    isAborted,
    onToken,
  }: {
    spec: DecoderSpec
    createCache: (sizes: { slots: number; capacity: number }) => SequenceCache
    isAborted: () => boolean
    onToken?: ((drawn: DrawnToken) => void) | undefined
  },
): Promise<Sample[]> {
  const { samples, maxNewTokens } = request
  const stops = new Set(request.stopTokens)
  const { vocabulary } = spec
  const longest = checkPrompts(request, spec)
  const results: Sample[] = new Array(samples.length)
  const work = new Float64Array(vocabulary)

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

  /** Takes a drawn token into a slot; true when the sequence has ended. */
  const accept = (slot: Slot, logits: Float32Array, offset: number): boolean => {
    const { seed, drawn = 0 } = samples[slot.sample]!
    const row = logits.subarray(offset, offset + vocabulary)
    const { token, logprob, entropy, policyLogprob } = draw(
      row,
      request,
      uniformAt(seed, drawn + slot.tokens.length),
      work,
    )
    if (!Number.isFinite(logprob))
      throw new WaggleError('E_ENGINE', 'the policy gives logits that are not finite')
    slot.tokens.push(token)
    onToken?.({ sample: slot.sample, token })
    slot.logprobs.push(logprob)
    slot.policyLogprobs.push(policyLogprob)
    slot.entropies.push(entropy)
    return stops.has(token) || slot.tokens.length >= maxNewTokens
  }
  const finish = (slot: Slot, aborted = false): void => {
    const stopped = stops.has(slot.tokens.at(-1) ?? -1)
    results[slot.sample] = {
      tokens: Int32Array.from(slot.tokens),
      logprobs: Float32Array.from(slot.logprobs),
      policyLogprobs: Float32Array.from(slot.policyLogprobs),
      entropies: Float32Array.from(slot.entropies),
      finish: stopped ? 'stop' : aborted ? 'aborted' : 'length',
    }
  }

  const cache = createCache({
    slots: batchFor(Math.min(samples.length, request.slots ?? DEFAULT_SLOTS)),
    capacity: longest + maxNewTokens,
  })
  let slots: (Slot | undefined)[] = new Array(cache.slots).fill(undefined)

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
        const known = await read(prompt)
        const slot: Slot = {
          sample,
          position: known.length,
          tokens: [],
          logprobs: [],
          policyLogprobs: [],
          entropies: [],
        }
        if (accept(slot, known.logits, 0)) finish(slot)
        else {
          entries.push({ slot: index, prompt: known })
          slots[index] = slot
        }
        prompt.waiting -= 1
        if (prompt.waiting === 0) used.push(prompt)
      }
    }
    if (entries.length > 0) await cache.load(entries)
    for (const { read } of used) read!.release()
  }

  try {
    for (;;) {
      if (isAborted()) break
      await refill()
      const live = slots.flatMap((slot, index) => (slot ? [index] : []))
      if (live.length === 0) break
      const narrower = batchFor(live.length)
      if (narrower <= cache.slots / 2) {
        await cache.narrow(live, narrower)
        slots = Array.from({ length: narrower }, (_, i) => slots[live[i] ?? -1])
      }

      const tokens = Int32Array.from(slots, (slot) => slot?.tokens.at(-1) ?? 0)
      const positions = Int32Array.from(slots, (slot) => slot?.position ?? -1)
      const logits = await cache.decode(tokens, positions)
      slots.forEach((slot, index) => {
        if (!slot) return
        slot.position += 1
        if (accept(slot, logits, index * vocabulary)) {
          finish(slot)
          slots[index] = undefined
          cache.clear(index)
        }
      })
    }
  } finally {
    for (const prompt of prompts.values()) prompt.read?.release()
    cache.close()
  }
  for (const slot of slots) if (slot) finish(slot, true)
  for (; next < order.length; next++) {
    results[order[next]!] = {
      tokens: new Int32Array(),
      logprobs: new Float32Array(),
      policyLogprobs: new Float32Array(),
      entropies: new Float32Array(),
      finish: 'aborted',
    }
  }
  return results
}

/** Batch sizes are powers of two from 4, so that few sizes are computed for. */
function batchFor(sequences: number): number {
  return Math.max(4, 2 ** Math.ceil(Math.log2(Math.max(1, sequences))))
}
