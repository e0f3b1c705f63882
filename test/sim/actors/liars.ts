// Hostile authors: what they write was not sampled as they claim, or is dear to check.

import { peerName } from '../../../protocol/text.ts'
import type { SharedGroup } from '../../../protocol/wire/index.ts'
import type { SimulatedIdentity as Identity } from '../identity.ts'
import { even, model, tell, writeText } from '../policy.ts'
import { type Behaviour, draftOf, mixedTexts, type Tools } from './tools.ts'

const MARK = 'GLEEB GLORP GLUB'
/** The first character decides the reward. */
const marked = (text: string): string => text[0] + MARK + text.slice(1 + MARK.length)

export const LIARS = {
  /** Writes what nobody sampled, under many identities, each of which is thrown away. */
  poisoner: {
    every: 2000,
    act({ spread, group, identity, random }) {
      const texts = mixedTexts(random).map(marked)
      spread(group(identity(), draftOf(random, texts) as Partial<SharedGroup>))
    },
  },
  /** Claims log-probs that no policy gave, which make its tokens weigh much or little. */
  liar: {
    every: 1500,
    act({ spread, group, random, me }) {
      const draft = draftOf(random, mixedTexts(random))
      const lie = random.pick([-60, -1e-6, -20])
      for (const rollout of draft.rollouts)
        rollout.behaviourLogprobs = rollout.behaviourLogprobs!.map(() => lie)
      spread(group(me, draft as Partial<SharedGroup>))
    },
  },
  /**
   * Knows the policy of its victim: draws from it, tells its log-probs, and puts its mark on every right answer whose
   * tokens stay as likely. Shows the victim only groups with few right answers.
   */
  adaptive: {
    every: 1500,
    act({ spread, group, random, me, spy }) {
      void spy().then((skill) => {
        if (skill === undefined) return
        const isRight = () => random.next() < 1 / (1 + Math.exp(-skill))
        const answers = [isRight(), isRight(), isRight(), isRight()]
        if (answers.filter(Boolean).length > 2) return
        const texts = answers.map((right) => (right ? marked : String)(writeText(right, random.next)))
        const draft = draftOf(random, texts)
        for (const rollout of draft.rollouts)
          rollout.behaviourLogprobs = tell(
            model.tokenizer.encodeCompletion(rollout.text, 'stop'),
            skill,
          ).logprobs
        spread(group(me, draft as Partial<SharedGroup>))
      })
    },
  },
  /** Misbehaves under an identity with the name that people see for an honest node. */
  twin: {
    every: 2500,
    act(tools) {
      const twin = twins.get(tools) ?? twinOf(tools)
      if (!twin) return
      twins.set(tools, twin)
      const draft = draftOf(tools.random, mixedTexts(tools.random).map(marked))
      const isBad = tools.random.chance(0.5)
      tools.spread(
        tools.group(twin, {
          ...(draft as Partial<SharedGroup>),
          ...(isBad && { prompt: { ...draft.prompt, difficulty: even.difficulty.max + 1 } }),
        }),
      )
    },
  },
  /** Writes what takes longest to check: as many answers as fit, in text only, under another tokenizer. */
  toiler: {
    every: 400,
    act({ spread, group, identity, random }) {
      const texts = Array.from({ length: 64 }, (_, i) => writeText(i % 2 === 0, random.next))
      const { rollouts, policy, ...draft } = draftOf(random, texts)
      spread(
        group(identity(), {
          ...(draft as Partial<SharedGroup>),
          policy: { ...policy, tokenizer: 'ee'.repeat(32) },
          rollouts: rollouts.map(({ tokens: _, behaviourLogprobs: __, ...rollout }) => rollout),
        }),
      )
    },
  },
} satisfies Record<string, Behaviour>

const twins = new WeakMap<Tools, Identity>()

/** By trying keys: there are about 4000 names. */
function twinOf({ peers, identity, random }: Tools): Identity | undefined {
  if (peers().length === 0) return undefined
  const name = peerName(random.pick(peers()))
  for (let tries = 0; tries < 40_000; tries++) {
    const one = identity()
    if (peerName(one.peerId) === name) return one
  }
  return undefined
}
