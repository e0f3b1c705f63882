// Hostile nodes whose weights everybody takes: they are good at first, and forged later.

import { pack } from '../../../daemon/trainer/heads/blocks.ts'
import { toVector } from '../../../daemon/trainer/heads/vector.ts'
import { encodeHead } from '../../../protocol/wire/index.ts'
import { blankWeights } from '../policy.ts'
import type { Random } from '../world.ts'
import { LAYOUT, LINEAGE, SIZE, sha256 } from './heads.ts'
import { type Behaviour, nowOf, type Tools } from './tools.ts'

/** By author: what it offers next, what it has told of, and what it has done since the turn. */
const turns = new WeakMap<Tools, { next: Uint8Array; told?: Uint8Array; heads: number; skill: number }>()
/** Until then a forger offers what an honest node has, so that its heads are averaged by then. */
export const TURN_MS = 150_000
/** Heads of honest nodes are about so far apart. */
const A_LITTLE = 0.05
/** How long one that comes and goes stays as it is. */
const PHASE_MS = 40_000

/** The skill of the next head, from the turn on. `skill` is what honest nodes have, now and then. */
type Forge = (now: { skill: number; atTurn: number; heads: number; since: number; random: Random }) => number

const FORGED = {
  'all wrong': ({ random }) => -8 - random.next(),
  'sign flipped': ({ skill }) => -skill,
  'ten times': ({ skill }) => 10 * skill,
  random: ({ random }) => random.between(-8, 8),
  'slow drift': ({ skill, heads }) => skill - A_LITTLE * heads,
  'a little worse': ({ skill }) => skill - 3 * A_LITTLE,
  /** Of one that knows the rules: as far away as a head may be without being tried. */
  'near enough': ({ skill }) => skill - 8 * A_LITTLE,
  'comes and goes': ({ skill, since }) => (Math.floor(since / PHASE_MS) % 2 === 0 ? -8 : skill),
  stale: ({ atTurn }) => atTurn,
  copy: ({ skill }) => skill,
  'average back': ({ skill }) => skill,
} satisfies Record<string, Forge>
export type ForgedKind = keyof typeof FORGED
export const FORGED_KINDS = Object.keys(FORGED) as ForgedKind[]

const forger = (forge: Forge): Behaviour => ({
  every: 1500,
  act(tools) {
    const { world, random } = tools
    void tools.spy().then((skill = 0) => {
      const since = world.time - TURN_MS
      const { heads = 0, skill: last = skill, ...had } = turns.get(tools) ?? {}
      const shown = since < 0 ? skill : forge({ skill, atTurn: last, heads, since, random })
      turns.set(tools, {
        ...had,
        next: pack(toVector(LAYOUT, blankWeights(shown))),
        skill: since < 0 ? skill : last,
        heads,
      })
    })
  },
  head(tools, request) {
    const offers = turns.get(tools)
    if (!offers) return []
    if (!('lineage' in request)) return offers.told ? [offers.told] : []
    if (tools.world.time >= TURN_MS) offers.heads++
    const bytes = offers.next
    offers.told = bytes
    const seconds = tools.world.time / 1000
    const facts = {
      ...{ lineage: LINEAGE, hash: sha256(bytes), size: SIZE, version: 1, tasks: [] },
      // About what honest nodes say, so that it is neither far ahead nor left behind.
      ...{ own: Math.round(seconds / 1.5), foreign: Math.round(seconds / 0.5) },
      ...{ createdAt: nowOf(tools) },
    }
    return [encodeHead(facts, tools.me.signer)]
  },
})

export const FORGERS = Object.fromEntries(
  Object.entries(FORGED).map(([kind, forge]) => [kind, forger(forge)]),
) as Record<ForgedKind, Behaviour>
