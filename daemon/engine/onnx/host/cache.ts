// Keys and values in the host's memory. A step reads them in place and returns only those of the new tokens, which
// are then written to the cache. Nothing else is copied.

import type { DecoderSpec } from '../../decoder.ts'
import { buildDecode, buildPrefill } from '../decoder/sampling.ts'
import type { CacheSize, ReadPrompt, SequenceCache } from '../decoding/sequence-cache.ts'
import type { Graph } from '../graph/graph.ts'
import type { Data, Feeds, Runtime } from '../runtime/runtime.ts'

export const MASKED = -1e9

/** From this many rows on, the copy of the weights costs little beside the product, and turning its result costs more. */
const FEW_ROWS = 48

/** Per layer [kvHeads, length, headWidth]. */
interface HostPrompt extends ReadPrompt {
  keys: Float32Array[]
  values: Float32Array[]
}

/** Per layer [batch, kvHeads, capacity, headWidth]; `bias` is [batch, capacity]. */
interface Memory {
  batch: number
  capacity: number
  bias: Float32Array
  keys: Float32Array[]
  values: Float32Array[]
}

export function createHostCache(
  { spec, ...size }: { spec: DecoderSpec } & CacheSize,
  { runtime, weights }: { runtime: Runtime; weights: Feeds },
): SequenceCache {
  const { vocabulary, layers, kvHeads, headWidth } = spec
  const makeLayer = ({ slots, capacity }: CacheSize): Float32Array =>
    new Float32Array(slots * kvHeads * capacity * headWidth)
  const makeBias = ({ slots, capacity }: CacheSize): Float32Array =>
    new Float32Array(slots * capacity).fill(MASKED)
  const makeLayers = (): Float32Array[] => Array.from({ length: layers }, () => makeLayer(size))
  const memory: Memory = {
    batch: size.slots,
    capacity: size.capacity,
    bias: makeBias(size),
    keys: makeLayers(),
    values: makeLayers(),
  }

  /** Writes the new tokens' keys and values to the places of their positions. */
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

  /** A product of one row reads the weights in place as they are. */
  const compileFor = (name: string, rows: number, build: (spec: DecoderSpec) => Graph) => {
    const hasFewRows = rows > 1 && rows <= FEW_ROWS
    return runtime.compile(`${name}${hasFewRows ? ' few' : ''}`, () => build(spec), { hasFewRows })
  }

  return {
    get slots() {
      return memory.batch
    },
    get capacity() {
      return memory.capacity
    },

    async read(prompts) {
      const { feeds, length } = packPrompts(prompts)
      const graph = await compileFor('prefill', prompts.length * length, buildPrefill)
      const out = await graph.run({ ...weights, ...feeds }, { batch: prompts.length, length })
      return prompts.map((prompt, b): HostPrompt => {
        const kept = prompt.length * headWidth
        const compact = (all: Float32Array): Float32Array => {
          const part = new Float32Array(kvHeads * kept)
          for (let h = 0; h < kvHeads; h++) {
            const from = (b * kvHeads + h) * length * headWidth
            part.set(all.subarray(from, from + kept), h * kept)
          }
          return part
        }
        const each = (which: string): Float32Array[] =>
          Array.from({ length: layers }, (_, layer) => compact(out[`${which}.${layer}`]!))
        return {
          length: prompt.length,
          logits: out.logits!.slice(b * vocabulary, (b + 1) * vocabulary),
          keys: each('keys'),
          values: each('values'),
          release() {
            this.keys = []
            this.values = []
          },
        }
      })
    },

    async load(entries) {
      const { capacity } = memory
      for (const { slot, prompt } of entries) {
        const { length, keys, values } = prompt as HostPrompt
        const kept = length * headWidth
        for (let layer = 0; layer < layers; layer++) {
          for (let h = 0; h < kvHeads; h++) {
            const at = (slot * kvHeads + h) * capacity * headWidth
            memory.keys[layer]!.set(keys[layer]!.subarray(h * kept, (h + 1) * kept), at)
            memory.values[layer]!.set(values[layer]!.subarray(h * kept, (h + 1) * kept), at)
          }
        }
        memory.bias.fill(MASKED, slot * capacity, (slot + 1) * capacity)
        memory.bias.fill(0, slot * capacity, slot * capacity + length)
      }
    },

    async decode(tokens, positions) {
      const { capacity } = memory
      const graph = await compileFor('decode', memory.batch, buildDecode)
      const feeds: Feeds = {
        ...weights,
        tokens,
        positions: BigInt64Array.from(positions, (position) => BigInt(Math.max(0, position))),
        cacheBias: memory.bias,
        ...localBias(spec, memory.bias, positions, capacity),
      }
      for (let layer = 0; layer < layers; layer++) {
        feeds[`keys.${layer}`] = memory.keys[layer]!
        feeds[`values.${layer}`] = memory.values[layer]!
      }
      const out = await graph.run(feeds, { batch: memory.batch, capacity })
      positions.forEach((position, slot) => {
        if (position >= 0) store(slot, position, out)
      })
      return out.logits!
    },

    clear(slot) {
      const { capacity } = memory
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
      // Layer by layer, so that no more than one is there twice.
      for (const which of [memory.keys, memory.values])
        for (let layer = 0; layer < layers; layer++) which[layer] = next(which[layer]!)
      const bias = makeBias({ slots, capacity })
      kept.forEach((from, to) => {
        const at = from * memory.capacity
        bias.set(memory.bias.subarray(at, at + shared), to * capacity)
      })
      Object.assign(memory, { batch: slots, capacity, bias })
    },

    close() {},
  }
}

/** The decode graph's input for layers with a sliding window: `bias` [slots, capacity] with older tokens masked. */
export function localBias(
  { local }: DecoderSpec,
  bias: Float32Array,
  positions: Int32Array,
  capacity: number,
): Feeds {
  if (!local) return {}
  const near = bias.slice()
  positions.forEach((position, slot) => {
    const oldest = Math.max(0, position - local.window + 1)
    near.fill(MASKED, slot * capacity, slot * capacity + oldest)
  })
  return { localBias: near }
}

/** The prefill graph's inputs for whole prompts, padded at the end. */
export function packPrompts(prompts: readonly Int32Array[]): { feeds: Record<string, Data>; length: number } {
  const length = Math.max(...prompts.map((prompt) => prompt.length))
  const tokens = new Int32Array(prompts.length * length)
  const positions = new BigInt64Array(prompts.length * length)
  const last = new Int32Array(prompts.length)
  prompts.forEach((prompt, b) => {
    tokens.set(prompt, b * length)
    for (let i = 0; i < prompt.length; i++) positions[b * length + i] = BigInt(i)
    last[b] = b * length + prompt.length - 1
  })
  return { feeds: { tokens, positions, last }, length }
}
