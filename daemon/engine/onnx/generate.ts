// The sampling loop: prefills each distinct prompt once, decodes many sequences side by side, refills a slot as soon
// as its sequence ends, and narrows the batch when nothing is left to refill it with.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DecoderSpec } from '../decoder.ts'
import { draw } from '../draw.ts'
import type { GenerateRequest, Sample } from '../engine.ts'
import { checkPrompts } from '../inputs.ts'
import { uniformAt } from '../random.ts'
import type { CompiledGraph, Data, Runtime } from './runtime.ts'
import { buildDecode, buildPrefill } from './sampling.ts'

const MASKED = -1e9
const DEFAULT_SLOTS = 64
/** Prompts read in one prefill. */
const PREFILL_BATCH = 16

interface Prompt {
  tokens: Int32Array
  /** Samples yet to be started. */
  waiting: number
  /** Per layer, keys and values [kvHeads, length, headWidth]; and the logits after the last token. */
  keys: Float32Array[]
  values: Float32Array[]
  logits: Float32Array
}

interface Slot {
  sample: number
  position: number
  tokens: number[]
  logprobs: number[]
  policyLogprobs: number[]
  entropies: number[]
}

interface Cache {
  batch: number
  capacity: number
  bias: Float32Array
  keys: Float32Array[]
  values: Float32Array[]
}

export async function generate(
  request: GenerateRequest,
  {
    spec,
    runtime,
    weights,
    isAborted,
  }: { spec: DecoderSpec; runtime: Runtime; weights: Record<string, Data>; isAborted: () => boolean },
): Promise<Sample[]> {
  const { samples, maxNewTokens } = request
  const stops = new Set(request.stopTokens)
  const { vocabulary, layers, kvHeads, headWidth } = spec
  const longest = checkPrompts(request, spec)
  const results: Sample[] = new Array(samples.length)
  const work = new Float64Array(vocabulary)
  const capacity = longest + maxNewTokens

  // Samples in the order of their prompts, so that a prompt's keys and values can be dropped early.
  const prompts = new Map<string, Prompt>()
  const promptOf = samples.map(({ prompt }) => {
    const key = Buffer.from(prompt.buffer, prompt.byteOffset, prompt.byteLength).toString('base64')
    const known = prompts.get(key) ?? {
      tokens: prompt,
      waiting: 0,
      keys: [],
      values: [],
      logits: new Float32Array(),
    }
    known.waiting += 1
    prompts.set(key, known)
    return known
  })
  const order = samples.map((_, i) => i)
  const rank = new Map([...prompts.values()].map((prompt, i) => [prompt, i]))
  order.sort((a, b) => rank.get(promptOf[a]!)! - rank.get(promptOf[b]!)! || a - b)
  const unread = [...prompts.values()]

  const readPrompts = async (): Promise<void> => {
    const batch = unread.splice(0, PREFILL_BATCH)
    const length = Math.max(...batch.map((prompt) => prompt.tokens.length))
    const size = batch.length
    const tokens = new Int32Array(size * length)
    const positions = new BigInt64Array(size * length)
    const last = new Int32Array(size)
    batch.forEach((prompt, b) => {
      tokens.set(prompt.tokens, b * length)
      for (let i = 0; i < prompt.tokens.length; i++) positions[b * length + i] = BigInt(i)
      last[b] = b * length + prompt.tokens.length - 1
    })
    const graph = await runtime.compile('prefill', () => buildPrefill(spec))
    const out = await graph.run({ ...weights, tokens, positions, last }, { batch: size, length })
    batch.forEach((prompt, b) => {
      const kept = prompt.tokens.length * headWidth
      const compact = (all: Float32Array): Float32Array => {
        const part = new Float32Array(kvHeads * kept)
        for (let h = 0; h < kvHeads; h++) {
          const from = (b * kvHeads + h) * length * headWidth
          part.set(all.subarray(from, from + kept), h * kept)
        }
        return part
      }
      for (let layer = 0; layer < layers; layer++) {
        prompt.keys.push(compact(out[`keys.${layer}`]!))
        prompt.values.push(compact(out[`values.${layer}`]!))
      }
      prompt.logits = out.logits!.slice(b * vocabulary, (b + 1) * vocabulary)
    })
  }

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

  let cache = createCache(spec, batchFor(Math.min(samples.length, request.slots ?? DEFAULT_SLOTS)), capacity)
  let slots: (Slot | undefined)[] = new Array(cache.batch).fill(undefined)
  let next = 0

  /** Puts waiting samples into free slots. A sequence may end with its first token, so a slot is tried again. */
  const refill = async (): Promise<void> => {
    for (let index = 0; index < slots.length; index++) {
      while (slots[index] === undefined && next < order.length) {
        const sample = order[next++]!
        const prompt = promptOf[sample]!
        if (prompt.keys.length === 0) await readPrompts()
        const slot: Slot = {
          sample,
          position: prompt.tokens.length,
          tokens: [],
          logprobs: [],
          policyLogprobs: [],
          entropies: [],
        }
        if (accept(slot, prompt.logits, 0)) finish(slot)
        else {
          loadPrompt(cache, spec, index, prompt)
          slots[index] = slot
        }
        prompt.waiting -= 1
        if (prompt.waiting === 0) {
          prompt.keys = []
          prompt.values = []
        }
      }
    }
  }

  for (;;) {
    if (isAborted()) break
    await refill()
    const active = slots.filter((slot) => slot !== undefined).length
    if (active === 0) break
    const narrower = batchFor(active)
    if (narrower <= cache.batch / 2) ({ cache, slots } = narrow(cache, spec, slots, narrower))

    const tokens = Int32Array.from(slots, (slot) => slot?.tokens.at(-1) ?? 0)
    const positions = BigInt64Array.from(slots, (slot) => BigInt(slot?.position ?? 0))
    const graph: CompiledGraph = await runtime.compile('decode', () => buildDecode(spec))
    const feeds: Record<string, Data> = { ...weights, tokens, positions, cacheBias: cache.bias }
    for (let layer = 0; layer < layers; layer++) {
      feeds[`keys.${layer}`] = cache.keys[layer]!
      feeds[`values.${layer}`] = cache.values[layer]!
    }
    const out = await graph.run(feeds, { batch: cache.batch, capacity })
    slots.forEach((slot, index) => {
      if (!slot) return
      storeToken(cache, spec, index, slot.position, out)
      slot.position += 1
      if (accept(slot, out.logits!, index * vocabulary)) {
        finish(slot)
        slots[index] = undefined
        cache.bias.fill(MASKED, index * capacity, (index + 1) * capacity)
      }
    })
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

/** Batch sizes are powers of two from 4, so that few graphs are compiled. */
function batchFor(sequences: number): number {
  return Math.max(4, 2 ** Math.ceil(Math.log2(Math.max(1, sequences))))
}

function createCache({ layers, kvHeads, headWidth }: DecoderSpec, batch: number, capacity: number): Cache {
  const make = (): Float32Array[] =>
    Array.from({ length: layers }, () => new Float32Array(batch * kvHeads * capacity * headWidth))
  return {
    batch,
    capacity,
    bias: new Float32Array(batch * capacity).fill(MASKED),
    keys: make(),
    values: make(),
  }
}

function loadPrompt(
  cache: Cache,
  { layers, kvHeads, headWidth }: DecoderSpec,
  index: number,
  prompt: Prompt,
): void {
  const length = prompt.tokens.length
  const kept = length * headWidth
  for (let layer = 0; layer < layers; layer++) {
    for (let h = 0; h < kvHeads; h++) {
      const at = (index * kvHeads + h) * cache.capacity * headWidth
      cache.keys[layer]!.set(prompt.keys[layer]!.subarray(h * kept, (h + 1) * kept), at)
      cache.values[layer]!.set(prompt.values[layer]!.subarray(h * kept, (h + 1) * kept), at)
    }
  }
  cache.bias.fill(MASKED, index * cache.capacity, (index + 1) * cache.capacity)
  cache.bias.fill(0, index * cache.capacity, index * cache.capacity + length)
}

function storeToken(
  cache: Cache,
  { layers, kvHeads, headWidth }: DecoderSpec,
  index: number,
  position: number,
  out: Record<string, Float32Array>,
): void {
  for (let layer = 0; layer < layers; layer++) {
    const keys = out[`newKeys.${layer}`]!
    const values = out[`newValues.${layer}`]!
    for (let h = 0; h < kvHeads; h++) {
      const from = (index * kvHeads + h) * headWidth
      const to = ((index * kvHeads + h) * cache.capacity + position) * headWidth
      for (let i = 0; i < headWidth; i++) {
        cache.keys[layer]![to + i] = keys[from + i]!
        cache.values[layer]![to + i] = values[from + i]!
      }
    }
  }
  cache.bias[index * cache.capacity + position] = 0
}

/** Moves the live sequences into a smaller cache. */
function narrow(
  cache: Cache,
  spec: DecoderSpec,
  slots: readonly (Slot | undefined)[],
  batch: number,
): { cache: Cache; slots: (Slot | undefined)[] } {
  const smaller = createCache(spec, batch, cache.capacity)
  const kept: (Slot | undefined)[] = new Array(batch).fill(undefined)
  const block = spec.kvHeads * cache.capacity * spec.headWidth
  let to = 0
  slots.forEach((slot, from) => {
    if (!slot) return
    for (let layer = 0; layer < spec.layers; layer++) {
      smaller.keys[layer]!.set(cache.keys[layer]!.subarray(from * block, (from + 1) * block), to * block)
      smaller.values[layer]!.set(cache.values[layer]!.subarray(from * block, (from + 1) * block), to * block)
    }
    smaller.bias.set(
      cache.bias.subarray(from * cache.capacity, (from + 1) * cache.capacity),
      to * cache.capacity,
    )
    kept[to++] = slot
  })
  return { cache: smaller, slots: kept }
}
