// ARISE (arXiv 2603.16060): a library of short skills that the policy both writes and selects.
//
// For the first `warmUp` updates no skill is shown, but skills are written and kept. Then the policy scores
// each skill in the cache as a continuation of the question. From softmax(mean log-prob / sigma) it takes the
// best skill, or none if no value reaches `delta` (with probability epsilon, a random one). With another
// `choice`, which is not in the paper, it is always shown the skill nearest to the question. A right answer with a
// skill earns 1 more. Constants are those of the authors' code. As there, all rollouts of a prompt get the same
// skill, so dividing by a standard deviation would cancel its bonus. A skill's utility is updated once per prompt,
// by the mean reward of its rollouts. "Unaided" means a group that saw the plain question, so that all four levels
// are reachable. Peers' skills go through the same trial. Tasks with turns have no trial, and so no new skills.

import { z } from 'zod'
import { type ComposeView, type Context, definePlugin } from '../../../protocol/plugin/index.ts'
import { type Group, isRight, type PromptCoordinates, promptKey } from '../../../protocol/train/index.ts'
import { BUILT_IN, type Entry } from '../library/entry.ts'
import { createLibrary, fitting, type Library, usable } from '../library/library.ts'
import { createRetrieval, RETRIEVALS } from '../library/retrieval.ts'
import { createTally } from '../library/tally.ts'
import { canTeach, conclude } from './conclusion.ts'
import { CHARACTERS, documentIn, SEEDS, skillText } from './document.ts'
import { maintain, TIERS } from './tiers.ts'
import { tryOffer } from './trial.ts'

const settings = z.strictObject({
  /** Number of updates before skills are shown. */
  warmUp: z.number().int().nonnegative().default(500),
  sigma: z.number().positive().default(1),
  delta: z.number().min(0).max(1).default(0.35),
  epsilon: z.number().min(0).max(1).default(0.1),
  /** How a skill is chosen: by the policy's own score, or by similarity to the question in words or in states. */
  choice: z.enum(['score', ...RETRIEVALS]).default('score'),
  /** Maximum prompts per round from which skills are written. */
  conclusions: z.number().int().nonnegative().default(4),
  /** Tokens for writing and trying skills per round. */
  tokens: z.number().int().nonnegative().default(8192),
})

const SCORED = 128

/** The index with the largest softmax(scores / sigma); undefined if none reaches delta. */
export function gate(
  scores: readonly number[],
  { sigma, delta }: { sigma: number; delta: number },
): number | undefined {
  const highest = Math.max(...scores)
  const total = scores.reduce((sum, score) => sum + Math.exp((score - highest) / sigma), 0)
  return scores.length > 0 && 1 / total >= delta ? scores.indexOf(highest) : undefined
}

export default definePlugin({
  name: 'arise',
  kind: 'skill',
  api: 1,
  summary: 'A library of short skills that the policy writes and chooses from.',
  settings,
  manifest: { needs: ['score'], testTime: 'frozen', budget: ({ tokens }) => ({ tokens }) },
  create(options) {
    const library = createLibrary({ zones: TIERS, characters: CHARACTERS })
    const tally = createTally()
    for (const text of SEEDS) {
      const entry = library.admit({
        text,
        zone: 'cache',
        score: 0,
        from: BUILT_IN,
        author: BUILT_IN,
        step: 0,
      })
      library.put(entry!)
    }
    const retrieval = options.choice === 'score' ? undefined : createRetrieval(options.choice)
    /** The best skill by the policy's own score; undefined if no score passes the gate. */
    const likeliest = async (
      candidates: readonly Entry[],
      prompt: PromptCoordinates,
      context: Context,
    ): Promise<Entry | undefined> => {
      const conditioning = context.conditioning(prompt)
      const scored = await context.score(
        candidates.map(({ text }) => ({
          conditioning,
          completion: context.encode(text).subarray(0, SCORED),
        })),
      )
      const means = scored.map(
        ({ logprobs }) => logprobs.reduce((a, b) => a + b, 0) / Math.max(1, logprobs.length),
      )
      const best = gate(means, options)
      return best === undefined ? undefined : candidates[best]
    }
    return {
      async compose({ prompt, question, turn }: ComposeView, context) {
        // `step` counts finished updates, so the next one is step + 1.
        if (turn > 0 || context.step + 1 <= options.warmUp) return undefined
        const candidates = usable(library.entries('cache'), prompt, context).filter(
          (entry) => fitting([entry], ([one]) => skillText(one!.text), prompt, context).length > 0,
        )
        if (candidates.length === 0) return undefined
        let chosen = retrieval
          ? (await retrieval.nearest(candidates, question, context))[0]
          : await likeliest(candidates, prompt, context)
        context.metric('gate_open', chosen === undefined ? 0 : 1)
        if (chosen === undefined) return undefined
        if (context.phase === 'train') {
          const random = context.random(`choose/${context.step}/${promptKey(prompt)}`)
          if (random() < options.epsilon) chosen = candidates[Math.floor(random() * candidates.length)]!
        }
        const { id, text } = chosen
        return { before: skillText(text), arm: 'skill', tainted: false, items: [id] }
      },

      reward: (group) =>
        shownIn(group, library) === undefined
          ? undefined
          : group.rollouts.map((rollout) => (isRight(rollout) ? rollout.reward + 1 : rollout.reward)),

      async observe(groups, context) {
        const used = groups.flatMap((group) => {
          const shown = shownIn(group, library)
          if (shown === undefined) return []
          const earned = group.rollouts.reduce((sum, rollout) => sum + (isRight(rollout) ? 2 : 0), 0)
          return [{ id: shown, reward: earned / group.rollouts.length }]
        })
        const added: Entry[] = []
        for (const group of groups.filter(canTeach).slice(0, options.conclusions)) {
          const entry = await conclude(group, { library, tally }, context)
          if (entry) added.push(entry)
        }
        const offered = await tryOffer(library, groups, context, skillText)
        if (offered && documentIn(offered.entry.text) === offered.entry.text) added.push(offered.entry)
        maintain(library, { used, added })
        context.metric('skills', library.size)
        tally.report(context)
      },

      share: () => library.share(),
      merge: (remote, from) => library.offers.merge(remote, from),
      save: () => library.save(),
      load: (state) => void library.load(state),
    }
  },
})

function shownIn({ arm, origin }: Group, library: Library): string | undefined {
  return arm === 'base' ? undefined : origin?.items?.find((id) => library.find(id) !== undefined)
}
