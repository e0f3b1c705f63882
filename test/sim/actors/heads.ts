// Hostile nodes whose weights everybody asks for, and nobody can read.

import { createHash } from 'node:crypto'
import { lineageOf } from '../../../daemon/policy/lineage.ts'
import { pack, packedSize } from '../../../daemon/trainer/heads/blocks.ts'
import { layoutOf } from '../../../daemon/trainer/heads/vector.ts'
import { encodeHead, MAX_HEAD_FRAME_BYTES } from '../../../protocol/wire/index.ts'
import { model } from '../policy.ts'
import { type Behaviour, nowOf, type Tools } from './tools.ts'

export const LAYOUT = layoutOf(model.spec)
const VALUES = LAYOUT.size
export const SIZE = packedSize(VALUES)
export const LINEAGE = lineageOf({ base: model.digest })
export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

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

export const HEADS = {
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
