// The KV cache of running sequences, as tensors. Each step makes new ones, with the new tokens' keys and values.

import { createCacheMask, localBias } from '../decoding/cache-mask.ts'
import type { CacheSize, PromptTokens, ReadPrompt, SequenceCache } from '../decoding/sequence-cache.ts'
import { sharedBy } from '../decoding/shared.ts'
import type { Tensor, Tensorflow } from './backend.ts'
import { anglesOf, causalBias, forward, type LayerCache, type Model, unembed } from './decoder.ts'

/** Prompts that were read together, padded at the end. */
interface PromptBatch {
  layers: LayerCache[]
}

interface TensorPrompt extends ReadPrompt {
  batch: PromptBatch
  row: number
}

/** `model` returns the current one: weights may change between steps. */
export function createCache(size: CacheSize, model: () => Model): SequenceCache {
  const { tf, spec } = model()
  const mask = createCacheMask(size)
  const empty = (): Tensor => tf.zeros([size.slots, spec.kvHeads, size.capacity, spec.headWidth])
  let layers = Array.from({ length: spec.layers }, (): LayerCache => ({ keys: empty(), values: empty() }))
  /** Replaces each tensor of the cache by what `change` makes of it. */
  const replace = (change: (old: Tensor, which: keyof LayerCache, layer: number) => Tensor): void => {
    const old = layers
    layers = tf.tidy(() => changed(old, change) as never)
    tf.dispose(old as never)
  }

  return {
    get slots() {
      return mask.slots
    },
    get capacity() {
      return mask.capacity
    },

    read: async (prompts) => readPrompts(prompts, model()),

    async load(entries) {
      const { slots, capacity } = mask
      const batches = Map.groupBy(entries, ({ prompt }) => (prompt as TensorPrompt).batch)
      for (const [batch, members] of batches) {
        const source = new Int32Array(slots)
        const isFresh = new Uint8Array(slots)
        for (const { slot, prompt } of members) {
          source[slot] = (prompt as TensorPrompt).row
          isFresh[slot] = 1
          mask.hold(slot, prompt.length)
        }
        replace((old, which, layer) => {
          const taken = tf.gather(batch.layers[layer]![which], tf.tensor1d(source, 'int32'))
          const fresh = tf.tensor(isFresh, [slots, 1, 1, 1], 'bool')
          return tf.where(fresh, lengthened(tf, taken as Tensor, capacity), old)
        })
      }
    },

    async decode(tokens, positions) {
      const { slots, capacity } = mask
      const current = model()
      let logits = new Float32Array()
      const out = tf.tidy(() => {
        // The new token is the last key.
        const biasOf = (past: Float32Array): Tensor =>
          tf.pad(tf.tensor(past, [slots, 1, 1, capacity]), [
            [0, 0],
            [0, 0],
            [0, 0],
            [0, 1],
          ])
        const near = localBias(spec, mask, positions)
        const { hidden, cache } = forward(current, {
          batch: slots,
          length: 1,
          tokens: tf.tensor(tokens, [slots], 'int32'),
          angles: anglesOf(
            tf,
            spec,
            positions.map((position) => Math.max(0, position)),
            slots,
          ),
          bias: biasOf(mask.bias),
          localBias: near && biasOf(near),
          past: layers,
        })
        logits = unembed(current, hidden).dataSync() as Float32Array<ArrayBuffer>
        return cache as never
      }) as LayerCache[]
      const isNew = new Uint8Array(slots * capacity)
      positions.forEach((position, slot) => {
        if (position < 0) return
        isNew[slot * capacity + position] = 1
        mask.add(slot, position)
      })
      replace((old, which, layer) => {
        const at = tf.tensor(isNew, [slots, 1, capacity, 1], 'bool')
        return tf.where(at, out[layer]![which], old)
      })
      tf.dispose(out as never)
      return logits
    },

    clear(slot) {
      mask.hold(slot, 0)
    },

    async resize(kept, next) {
      const rows = Int32Array.from({ length: next.slots }, (_, i) => kept[i] ?? 0)
      const shared = Math.min(mask.capacity, next.capacity)
      replace((old) => {
        const taken = tf.gather(old, tf.tensor1d(rows, 'int32')) as Tensor
        const cut = tf.slice(taken, [0, 0, 0, 0], [next.slots, spec.kvHeads, shared, spec.headWidth])
        return lengthened(tf, cut, next.capacity)
      })
      mask.resize(kept, next)
    },

    close() {
      tf.dispose(layers as never)
    },
  }
}

function changed(
  old: readonly LayerCache[],
  change: (old: Tensor, which: keyof LayerCache, layer: number) => Tensor,
): LayerCache[] {
  return old.map(({ keys, values }, layer) => ({
    keys: change(keys, 'keys', layer),
    values: change(values, 'values', layer),
  }))
}

/** Pads [rows, kvHeads, tokens, headWidth] at the end of each row. */
function lengthened(tf: Tensorflow, rows: Tensor, length: number): Tensor {
  return tf.pad(rows, [
    [0, 0],
    [0, 0],
    [0, length - rows.shape[2]!],
    [0, 0],
  ])
}

function readPrompts(prompts: readonly PromptTokens[], model: Model): TensorPrompt[] {
  const { tf, spec } = model
  const rows = prompts.length
  const length = Math.max(...prompts.map(({ tokens }) => tokens.length))
  const tokens = new Int32Array(rows * length)
  prompts.forEach((prompt, row) => {
    tokens.set(prompt.tokens, row * length)
  })
  const positions = Int32Array.from({ length: rows * length }, (_, i) => i % length)
  const lasts = Int32Array.from(prompts, (prompt, row) => row * length + prompt.tokens.length - 1)
  let logits = new Float32Array()
  const layers = tf.tidy(() => {
    const { hidden, cache } = forward(model, {
      batch: rows,
      length,
      tokens: tf.tensor(tokens, [rows * length], 'int32'),
      bias: causalBias(tf, length),
      angles: anglesOf(tf, spec, positions, rows),
    })
    const last = tf.gather(hidden, tf.tensor1d(lasts, 'int32')) as Tensor
    logits = unembed(model, last).dataSync() as Float32Array<ArrayBuffer>
    return cache as never
  }) as LayerCache[]
  const batch: PromptBatch = { layers }
  const userOf = sharedBy(rows, () => tf.dispose(layers as never))
  return prompts.map((prompt, row) => ({
    length: prompt.tokens.length,
    logits: logits.slice(row * spec.vocabulary, (row + 1) * spec.vocabulary),
    batch,
    row,
    release: userOf(),
  }))
}
