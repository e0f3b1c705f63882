// The KV cache of running sequences, on the device. The host tracks which slot holds which positions.

import type { DecoderSpec } from '../../decoder.ts'
import { buildSampling } from '../decoder/sampling.ts'
import type { CacheSize, ReadPrompt, SequenceCache } from '../decoding/sequence-cache.ts'
import { localBias } from '../host/cache.ts'
import { MASKED, packPrompts } from '../host/reading.ts'
import type { Feeds, Held, Runtime } from '../runtime/runtime.ts'
import { buildDecode, buildLoad, buildResize } from './sampling.ts'

/** Prompts that were read together. Their memory is freed with the last of them. */
interface PromptBatch {
  size: number
  length: number
  /** `keys.i`, `values.i`: [size, kvHeads, length, headWidth]. */
  tensors: Record<string, Held>
  users: number
}

interface DevicePrompt extends ReadPrompt {
  batch: PromptBatch
  row: number
}

export function createDeviceCache(
  { spec, ...size }: { spec: DecoderSpec } & CacheSize,
  { runtime, weights }: { runtime: Runtime; weights: Feeds },
): SequenceCache {
  const { vocabulary, layers, kvHeads, headWidth } = spec
  const rowSize = (length: number): number => kvHeads * length * headWidth
  const makeTensors = (rows: number, length: number): Record<string, Held> => {
    const tensors: Record<string, Held> = {}
    for (let layer = 0; layer < layers; layer++) {
      tensors[`keys.${layer}`] = runtime.hold(rows * rowSize(length))
      tensors[`values.${layer}`] = runtime.hold(rows * rowSize(length))
    }
    return tensors
  }
  const release = (tensors: Record<string, Held>): void => {
    for (const tensor of Object.values(tensors)) tensor.release()
  }
  let { slots: batch, capacity } = size
  let tensors = makeTensors(batch, capacity)
  let bias = new Float32Array(batch * capacity).fill(MASKED)

  return {
    get slots() {
      return batch
    },
    get capacity() {
      return capacity
    },

    async read(prompts) {
      const { feeds, length } = packPrompts(prompts.map(({ tokens }) => ({ tokens })))
      const graph = await runtime.compile('sampling', () => buildSampling(spec, { hasPast: false }))
      const group: PromptBatch = {
        size: prompts.length,
        length,
        tensors: makeTensors(prompts.length, length),
        users: prompts.length,
      }
      const sizes = { batch: prompts.length, length }
      const out = await graph.run({ ...weights, ...feeds }, sizes, updates(group.tensors))
      return prompts.map((prompt, row): DevicePrompt => {
        let isReleased = false
        return {
          length: prompt.tokens.length,
          logits: out.logits!.slice(row * vocabulary, (row + 1) * vocabulary),
          batch: group,
          row,
          release() {
            if (isReleased) return
            isReleased = true
            group.users -= 1
            if (group.users === 0) release(group.tensors)
          },
        }
      })
    },

    async load(entries) {
      const groups = Map.groupBy(entries, ({ prompt }) => (prompt as DevicePrompt).batch)
      for (const [group, members] of groups) {
        const source = new Int32Array(batch)
        const fresh = new Float32Array(batch)
        for (const { slot, prompt } of members) {
          source[slot] = (prompt as DevicePrompt).row
          fresh[slot] = 1
          bias.fill(MASKED, slot * capacity, (slot + 1) * capacity)
          bias.fill(0, slot * capacity, slot * capacity + prompt.length)
        }
        const prompts = Object.entries(group.tensors).map(([name, tensor]) => [`${name}.prompt`, tensor])
        const graph = await runtime.compile('load', () => buildLoad(spec))
        await graph.run(
          { ...tensors, ...Object.fromEntries(prompts), source, fresh },
          { batch, capacity, prompts: group.size, length: group.length },
          updates(tensors),
        )
      }
    },

    async decode(tokens, positions) {
      const writes = new Float32Array(batch * capacity)
      positions.forEach((position, slot) => {
        if (position < 0) return
        writes[slot * capacity + position] = 1
        bias[slot * capacity + position] = 0
      })
      const graph = await runtime.compile('decode', () => buildDecode(spec))
      const near = localBias(spec, bias, positions, capacity)
      const out = await graph.run(
        {
          ...weights,
          ...tensors,
          tokens,
          positions: BigInt64Array.from(positions, (position) => BigInt(Math.max(0, position))),
          writes,
          cacheBias: bias,
          ...(near && { localBias: near }),
        },
        { batch, capacity },
        updates(tensors),
      )
      return out.logits!
    },

    clear(slot) {
      bias.fill(MASKED, slot * capacity, (slot + 1) * capacity)
    },

    async resize(kept, next) {
      const made = makeTensors(next.slots, next.capacity)
      const slots = Int32Array.from({ length: next.slots }, (_, i) => kept[i] ?? 0)
      const shared = Math.min(capacity, next.capacity)
      const graph = await runtime.compile('resize', () => buildResize(spec))
      const sizes = { batch, capacity, kept: next.slots, shared, nextCapacity: next.capacity }
      await graph.run({ ...tensors, slots }, sizes, updates(made))
      release(tensors)
      tensors = made
      const rows = new Float32Array(next.slots * next.capacity).fill(MASKED)
      kept.forEach((from, to) => {
        rows.set(bias.subarray(from * capacity, from * capacity + shared), to * next.capacity)
      })
      bias = rows
      ;({ slots: batch, capacity } = next)
    },

    close() {
      release(tensors)
    },
  }
}

/** The same places, under the names of a graph's outputs. */
function updates(tensors: Record<string, Held>): Record<string, Held> {
  return Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [
      name.replace('keys.', 'newKeys.').replace('values.', 'newValues.'),
      tensor,
    ]),
  )
}
