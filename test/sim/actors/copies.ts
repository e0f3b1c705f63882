// Hostile nodes that use what others wrote: they repeat it, copy it, change it, or use it against its author.

import type { SharedGroup } from '../../../protocol/wire/index.ts'
import { FAIR } from '../net.ts'
import { type Behaviour, draftOf, groupIn, mixedTexts, type Tools } from './tools.ts'

/** The same content, with what else the author said of it. */
const copyOf = ({ prompt, rollouts, policy }: SharedGroup): Partial<SharedGroup> => ({
  prompt,
  rollouts,
  policy,
})

export const COPIES = {
  /** Sends again what it heard, much later too. */
  replayer: {
    every: 400,
    act({ spread, heard, random }) {
      if (heard.length > 0) spread(random.pick(heard))
    },
  },
  /** Sends others' texts under its own name, at once. */
  copier: {
    every: 700,
    act({ spread, heard, group, me }) {
      const theirs = groupIn(heard.at(-1))
      if (theirs) spread(group(me, copyOf(theirs)))
    },
  },
  /** Changes others' frames, which then do not fit their signature. */
  forger: {
    every: 3000,
    act({ gossip, peers, heard, random }) {
      const frame = heard.at(-1)
      if (!frame || peers().length === 0) return
      const changed = Uint8Array.from(frame)
      changed[Math.floor(random.next() * changed.length)]! ^= 1 + Math.floor(random.next() * 255)
      gossip(random.pick(peers()), changed)
    },
  },
  /** Its copies arrive before what they were copied from, and it writes enough of its own to become known. */
  frontRunner: {
    every: 3000,
    act({ spread, group, me }) {
      spread(group(me))
    },
    hears({ net, self, peers, spread, group, me, isFirst }, data) {
      const theirs = groupIn(data)
      // Copies have the same seed, so two of its kind do not copy each other for ever.
      if (!theirs || !isFirst(String(theirs.prompt.seed))) return
      for (const peer of peers()) net.setWeather(self, peer, { ...FAIR, delay: { least: 0, most: 0.5 } })
      spread(group(me, copyOf(theirs)))
    },
  },
  /** Mixes others' texts with its own, under one name and under many, so that theirs look less like theirs. */
  diluter: {
    every: 1500,
    act({ spread, heard, group, me, identity, random }) {
      const theirs = groupIn(heard.at(-1))
      if (!theirs) return
      const own = draftOf(random, mixedTexts(random)).rollouts
      const half = theirs.rollouts.slice(0, theirs.rollouts.length >> 1)
      spread(group(me, { ...copyOf(theirs), rollouts: [...half, ...own] }))
      for (let i = 0; i < 3; i++) {
        const rollouts = theirs.rollouts.map(({ tokens: _, behaviourLogprobs: __, ...rollout }) => ({
          ...rollout,
          text: `${rollout.text}${' '.repeat(i)}`,
        }))
        spread(group(identity(), { ...copyOf(theirs), rollouts }))
      }
    },
  },
  /**
   * Waits until an author comes back, maybe from a backup. Then it tells everybody, and the author, what the author said
   * before, in reverse: who keeps to "an author never goes back" would punish it.
   */
  framer: {
    every: 20_000,
    act: (tools) => {
      for (const peer of tools.peers()) replay(tools, peer)
    },
    meets: (tools, peer) => replay(tools, peer),
  },
} satisfies Record<string, Behaviour>

function replay({ heard, spread, world }: Tools, author: string): void {
  const said = heard.filter((frame) => groupIn(frame)?.author === author).reverse()
  for (const [i, frame] of said.slice(0, 60).entries()) world.after(20 * i, () => spread(frame))
}
