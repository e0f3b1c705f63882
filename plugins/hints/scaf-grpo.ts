// Scaf-GRPO (arXiv 2510.19807): after an initial phase without hints, prompts whose groups are all wrong are
// retried with increasingly more of a fixed hint, one rollout each. The first success replaces one failure.
//
// The order is knowledge 1 to 4, planning 1 to 4, solution 1 to 4; each step contains all earlier ones of its
// tier. A large model wrote the paper's hints; these are made from the task's worked solution, see worked.ts.
// `parallel` requests all steps at once and takes the first success in order, as in the released code. The paper
// starts after 15 % of the steps; a node has no last step, so the number of steps is a setting, as in the code.
// The resulting group has two conditionings, so its baseline is biased.

import { z } from 'zod'
import { type Context, definePlugin, type Request, type RoundView } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'
import { contentId } from '../../protocol/wire/index.ts'
import { affordable, fits, promptsToHint, scoreOf, tell, tokensSetting } from './groups.ts'
import { bankOf, TIERS } from './worked.ts'

const settings = z.strictObject({
  /** Optimizer steps without hints at the start. */
  exemption: z.number().int().min(0).default(50),
  parallel: z.boolean().default(false),
  /** Which failure the success replaces: `random` as in the paper, `first` as in the code. */
  replace: z.enum(['random', 'first']).default('random'),
  /** Whether the success is trained on with question and hint, as sampled, or with the question alone. */
  lossSees: z.enum(['hinted', 'bare']).default('hinted'),
  /** A rollout is right if its score is above this. */
  threshold: z.number().min(0).max(1).default(0.5),
  /** Maximum length of the hinted question, in tokens. The model's own limits also apply. */
  promptTokens: z.number().int().positive().default(4096),
  tokens: tokensSetting,
})
type Settings = z.output<typeof settings>

const NAME = 'hint/scaf_grpo'
/** Maximum number of hints per prompt: three tiers of four. */
const MAX = 12

interface Search {
  base: Group
  /** In the order in which they are tried. */
  hints: Array<{ before: string; after: string }>
  /** Number of hints requested so far. */
  asked: number
  found?: { group: Group; rollout: Rollout; level: number }
}

export default definePlugin({
  name: 'scaf_grpo',
  kind: 'hint',
  api: 1,
  summary: 'One hinted success replaces a failure in groups that are all wrong.',
  settings,
  manifest: {
    needs: ['privileged'],
    claims: ['hinted'],
    budget: ({ tokens }) => ({ tokens }),
  },
  create(options) {
    let searches: Search[] = []
    return {
      extend(round, context) {
        if (round.asked === 0) searches = begin(round, options, context)
        else for (const [i, search] of searches.entries()) look(search, i, round, options)
        return searches.flatMap((search, i) => (search.found ? [] : ask(search, i, options)))
      },

      group(groups, view, context) {
        if (view.at === 'batch') return groups
        const replaced = new Map(
          searches.flatMap((search) =>
            search.found ? [[search.base.id, mixed(search, options, context)] as const] : [],
          ),
        )
        tell(context, { prompts: searches.length, solved: replaced.size })
        searches = []
        return groups.map((group) => replaced.get(group.id) ?? group)
      },
    }
  },
})

function begin(round: RoundView, options: Settings, context: Context): Search[] {
  if (context.step < options.exemption) return []
  const costOf = (): number => MAX * context.limits.completion
  const bases = affordable(promptsToHint(round, options.threshold, context), round.tokensLeft, costOf)
  return bases.map((base) => ({ base, hints: hintsFor(base, options, context), asked: 0 }))
}

function hintsFor({ prompt }: Group, { promptTokens }: Settings, context: Context): Search['hints'] {
  const { steps } = context.privileged(prompt)!
  const bank = bankOf(context.question(prompt), steps, (text) => context.leaks(prompt, text))
  return TIERS.flatMap((tier) =>
    bank[tier].map((_, last) => {
      const items = bank[tier].slice(0, last + 1).map((text, i) => `${i + 1}. ${text}`)
      const title = `${tier[0]!.toUpperCase()}${tier.slice(1)}`
      return { before: 'Question:\n', after: `\n\n${title} Hints:\n${items.join('\n')}` }
    }),
  ).filter(({ after }) => !context.leaks(prompt, after) && fits(prompt, after, promptTokens, context))
}

function ask(search: Search, index: number, { parallel }: Settings): Request[] {
  const { prompt, id } = search.base
  const wanted = search.hints.slice(search.asked, parallel ? MAX : search.asked + 1)
  const from = search.asked
  search.asked += wanted.length
  return wanted.map((text, i) => ({
    id: `${index}:${from + i}`,
    prompt,
    rollouts: 1,
    rewrite: { ...text, arm: 'hint', tainted: true, level: from + i + 1 },
    keep: 'probe',
    parent: id,
  }))
}

/** Finds the first success, in order, among the requested rollouts. */
function look(search: Search, index: number, { landed }: RoundView, { threshold }: Settings): void {
  for (let i = 0; i < search.asked && !search.found; i++) {
    const group = landed.get(`${index}:${i}`)
    const rollout = group?.rollouts.find((one) => scoreOf(one) > threshold)
    if (group && rollout) search.found = { group, rollout, level: i + 1 }
  }
}

/** The group with one failure replaced by the hinted success. Never shared: it may reveal the answer. */
function mixed({ base, found }: Search, { replace, lossSees }: Settings, context: Context): Group {
  const { group, rollout, level } = found!
  const random = context.random(`replace/${context.step}/${base.id}`)
  const place = replace === 'first' ? 0 : Math.floor(random() * base.rollouts.length)
  const conditioning = rollout.conditioning ?? group.conditioning
  const success: Rollout = { ...rollout, arm: 'hint', ...(lossSees === 'hinted' && { conditioning }) }
  const rollouts = base.rollouts.map((one, i) => (i === place ? success : one))
  const texts = rollouts.map(({ text }) => text)
  return {
    ...base,
    id: contentId(base.prompt, texts),
    rollouts,
    tainted: true,
    origin: { plugin: NAME, parent: base.id, level },
  }
}
