// Hostile nodes whose weights everybody takes, if they can be read or as long as they do no harm.

import { createHash } from 'node:crypto'
import { lineageOf } from '../../../daemon/policy/lineage.ts'
import { pack, packedSize } from '../../../daemon/trainer/heads/blocks.ts'
import { layoutOf, toVector } from '../../../daemon/trainer/heads/vector.ts'
import { encodeHead, MAX_HEAD_FRAME_BYTES } from '../../../protocol/wire/index.ts'
import { blankWeights, model } from '../policy.ts'
import { type Behaviour, nowOf, type Tools } from './tools.ts'

const LAYOUT = layoutOf(model.spec)
const VALUES = LAYOUT.size
const SIZE = packedSize(VALUES)
const LINEAGE = lineageOf({ base: model.digest })
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const KINDS = [
  'noise',
  'long',
  'unsigned',
  'of another',
  'lineage',
  'size',
  'hash',
  'short',
  'not finite',
  'huge',
] as const

/** By author: what it tells of next, and gives when it is asked. */
const lies = new WeakMap<Tools, { kind: (typeof KINDS)[number]; bytes: Uint8Array }>()

function bytesOf(kind: (typeof KINDS)[number], { random }: Tools): Uint8Array {
  const bytes = pack(new Float32Array(VALUES).fill(random.between(-1, 1)))
  const scales = new DataView(bytes.buffer)
  if (kind === 'not finite') scales.setFloat32(0, Number.NaN, true)
  // A step that no value has.
  if (kind === 'huge') bytes[4 * Math.ceil(VALUES / 64)] = 0x80
  return bytes
}

/** By author: what a turncoat offers next, and what it has told of. */
const turns = new WeakMap<Tools, { next: Uint8Array; told: Uint8Array }>()
/** Until then it offers what an honest node has. */
export const TURN_MS = 60_000

export const HEADS = {
  /** Offers an honest node's weights, and later, claiming as much work, weights that answer everything wrong. */
  turncoat: {
    every: 1500,
    act(tools) {
      void tools.spy().then((skill = 0) => {
        const shown = tools.world.time < TURN_MS ? skill : -8 - tools.random.next()
        const next = pack(toVector(LAYOUT, blankWeights(shown)))
        turns.set(tools, { next, told: turns.get(tools)?.told ?? next })
      })
    },
    head(tools, request) {
      const offers = turns.get(tools)
      if (!offers) return []
      if (!('lineage' in request)) return [offers.told]
      offers.told = offers.next
      const bytes = offers.told
      const facts = {
        ...{ lineage: LINEAGE, hash: sha256(bytes), size: SIZE, version: 1, tasks: [] },
        // About what honest nodes say, so that it is neither far ahead nor left behind.
        ...{ own: Math.round(tools.world.time / 1000), foreign: Math.round(tools.world.time / 250) },
        ...{ createdAt: nowOf(tools) },
      }
      return [encodeHead(facts, tools.me.signer)]
    },
  },
  /** Offers heads that cannot be read, each time of another kind. */
  weigher: {
    every: 5000,
    act() {},
    head(tools, request) {
      const { random, me, identity } = tools
      if ('lineage' in request) {
        const kind = random.pick(KINDS)
        const bytes = bytesOf(kind, tools)
        lies.set(tools, { kind, bytes })
        if (kind === 'noise') return [random.bytes(Math.floor(random.next() * 300))]
        if (kind === 'long') return [new Uint8Array(MAX_HEAD_FRAME_BYTES + 1)]
        const facts = {
          lineage: kind === 'lineage' ? 'cd'.repeat(32) : LINEAGE,
          hash: kind === 'hash' ? sha256(Uint8Array.of(1)) : sha256(bytes),
          size: kind === 'size' ? SIZE + 1 : SIZE,
          ...{ version: 1, own: 1_000_000, foreign: 0, tasks: [], createdAt: nowOf(tools) },
        }
        const frame = encodeHead(facts, kind === 'of another' ? identity().signer : me.signer)
        if (kind === 'unsigned') frame[40]! ^= 1
        return [frame]
      }
      const lie = lies.get(tools)
      if (!lie) return []
      return [lie.kind === 'short' ? lie.bytes.subarray(1) : lie.bytes]
    },
  },
} satisfies Record<string, Behaviour>
