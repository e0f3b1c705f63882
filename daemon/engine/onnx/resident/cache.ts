// The KV cache of running sequences, on the device. The host tracks which slot holds which positions.

import type { DecoderSpec } from '../../decoder.ts'
import { createCacheMask, fedPositions, localBias } from '../../decoding/cache-mask.ts'
import type {
  CacheSize,
  Point,
  PromptTokens,
  ReadPrompt,
  SequenceCache,
} from '../../decoding/sequence-cache.ts'
import { sharedBy } from '../../decoding/shared.ts'
import { buildSampling } from '../decoder/sampling.ts'
import { packPrompts } from '../host/reading.ts'
import type { Feeds, Held, Runtime } from '../runtime/runtime.ts'
import { release } from './device-tensors.ts'
import { drawsFrom, drawsOnDevice, pointFeeds } from './drawing.ts'
import { buildDecode, buildLoad, buildResize } from './sampling.ts'

/** Prompts that were read together. */
interface PromptBatch {
  size: number
  length: number
  /** `keys.i`, `values.i`: [size, kvHeads, length, headWidth]. */
  tensors: Record<string, Held>
}

interface DevicePrompt extends ReadPrompt {
  batch: PromptBatch
  row: number
}

interface DeviceCacheParts {
  runtime: Runtime
  /** Asked for before each run, since weights may change while sequences run. */
  weights(): Promise<Feeds>
}

export function createDeviceCache(
  { spec, ...size }: { spec: DecoderSpec } & CacheSize,
  { runtime, weights }: DeviceCacheParts,
): SequenceCache {
  const mask = createCacheMask(size)
  const create = (slots: number, capacity: number) =>
    makeTensors([slots, capacity], { spec, alternates: true }, runtime)
  let tensors = create(mask.slots, mask.capacity)

  const step = async (
    [tokens, positions]: [tokens: Int32Array, positions: Int32Array],
    drawing?: Record<string, Float32Array>,
  ): Promise<Record<string, Float32Array>> => {
    const { slots: batch, capacity, bias } = mask
    const writes = new Float32Array(batch * capacity)
    positions.forEach((position, slot) => {
      if (position < 0) return
      writes[slot * capacity + position] = 1
      mask.add(slot, position)
    })
    const draws = drawing !== undefined
    const graph = await runtime.compile(draws ? 'draw' : 'decode', () => buildDecode(spec, { draws }))
    const near = localBias(spec, mask, positions)
    return graph.run(
      {
        ...(await weights()),
        ...tensors,
        tokens,
        positions: fedPositions(positions),
        writes,
        cacheBias: bias,
        ...(near && { localBias: near }),
        ...drawing,
      },
      { batch, capacity },
      updates(tensors),
    )
  }

  return {
    get slots() {
      return mask.slots
    },
    get capacity() {
      return mask.capacity
    },

    read: (prompts) => readBatch(prompts, spec, { runtime, weights }),

    async load(entries) {
      const { slots: batch, capacity } = mask
      const groups = Map.groupBy(entries, ({ prompt }) => (prompt as DevicePrompt).batch)
      for (const [group, members] of groups) {
        const source = new Int32Array(batch)
        const fresh = new Float32Array(batch)
        for (const { slot, prompt } of members) {
          source[slot] = (prompt as DevicePrompt).row
          fresh[slot] = 1
          mask.hold(slot, prompt.length)
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

    decode: async (tokens, positions) => (await step([tokens, positions])).logits!,

    ...(drawsOnDevice(spec.vocabulary) && {
      async draw(tokens: Int32Array, positions: Int32Array, points: readonly (Point | undefined)[]) {
        const { drawn } = await step([tokens, positions], pointFeeds(points))
        return drawsFrom(drawn!, points, spec.vocabulary)
      },
    }),

    clear(slot) {
      mask.hold(slot, 0)
    },

    async resize(kept, next) {
      const made = create(next.slots, next.capacity)
      const slots = Int32Array.from({ length: next.slots }, (_, i) => kept[i] ?? 0)
      const { slots: batch, capacity } = mask
      const shared = Math.min(capacity, next.capacity)
      const graph = await runtime.compile('resize', () => buildResize(spec))
      const sizes = { batch, capacity, kept: next.slots, shared, nextCapacity: next.capacity }
      await graph.run({ ...tensors, slots }, sizes, updates(made))
      release(tensors)
      tensors = made
      mask.resize(kept, next)
    },

    close() {
      release(tensors)
    },
  }
}

function makeTensors(
  [rows, length]: [rows: number, length: number],
  { spec: { layers, kvHeads, headWidth }, alternates }: { spec: DecoderSpec; alternates: boolean },
  runtime: Runtime,
): Record<string, Held> {
  const tensors: Record<string, Held> = {}
  for (let layer = 0; layer < layers; layer++)
    for (const name of ['keys', 'values'])
      tensors[`${name}.${layer}`] = runtime.hold({ length: rows * kvHeads * length * headWidth, alternates })
  return tensors
}

async function readBatch(
  prompts: readonly PromptTokens[],
  spec: DecoderSpec,
  { runtime, weights }: DeviceCacheParts,
): Promise<DevicePrompt[]> {
  const { feeds, length } = packPrompts(prompts.map(({ tokens }) => ({ tokens })))
  const graph = await runtime.compile('sampling', () => buildSampling(spec, { hasPast: false }))
  const batch: PromptBatch = {
    size: prompts.length,
    length,
    tensors: makeTensors([prompts.length, length], { spec, alternates: false }, runtime),
  }
  const sizes = { batch: batch.size, length }
  const out = await graph.run({ ...(await weights()), ...feeds }, sizes, updates(batch.tensors))
  const userOf = sharedBy(batch.size, () => release(batch.tensors))
  return prompts.map(
    ({ tokens }, row): DevicePrompt => ({
      length: tokens.length,
      logits: out.logits!.slice(row * spec.vocabulary, (row + 1) * spec.vocabulary),
      batch,
      row,
      release: userOf(),
    }),
  )
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
