// SAGE (arXiv 2602.03143): for prompts whose groups are all wrong, the policy writes hints of increasing
// strength from the reference solution, and the weakest one that leads to a success is trained on.
//
// Level by level, the whole group is rolled out again under the hint, but only for prompts that are still all
// wrong (the released code rolls out all prompts and discards most). The group of the last level tried replaces
// the plain group, even if it is all wrong. The reward is unchanged, and the loss conditions on question and
// hint. A prompt whose hints cannot be parsed keeps its group. Hints are assigned by group id, never by position
// in a batch. The leak check is ours; the paper has none.

import { z } from 'zod'
import { type Context, definePlugin, type Request, type RoundView } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { createTally, type Tally } from '../skills/library/tally.ts'
import { affordable, passRate, promptsToHint, standIn, tell, tokensSetting } from './groups.ts'
import { type Ladder, ladderSettings, writeLadders, writingCost } from './ladder-hints.ts'

const settings = z.strictObject({
  ...ladderSettings,
  /** A prompt is solved if any of its rewards is above this. */
  threshold: z.number().min(0).max(1).default(0),
  tokens: tokensSetting,
})
type Settings = z.output<typeof settings>

const NAME = 'hint/sage'

/** The state of one prompt's search. */
interface Climb {
  base: Group
  ladder: Ladder
  /** The group under the last level tried. */
  last?: Group
  /** The level last requested, from 1; 0 before the first. */
  level: number
}

export default definePlugin({
  name: 'sage',
  kind: 'hint',
  api: 1,
  summary: 'Hints by the policy itself, the weakest that leads to a success.',
  settings,
  manifest: {
    needs: ['privileged'],
    claims: ['hinted'],
    budget: ({ tokens }) => ({ tokens }),
  },
  create(options) {
    const tally = createTally()
    let climbs: Climb[] = []
    return {
      async extend(round, context) {
        if (round.asked === 0) climbs = await begin(round, options, { context, tally })
        return climbs.flatMap((climb, i) => next(climb, i, round, options) ?? [])
      },

      group(groups, view, context) {
        if (view.at === 'batch') return groups
        const chosen = new Map(climbs.flatMap(({ base, last }) => (last ? [[base.id, last] as const] : [])))
        const solved = [...chosen.values()].filter((group) => passRate(group, options.threshold) > 0)
        tell(context, { prompts: climbs.length, solved: solved.length })
        climbs = []
        return standIn(groups, NAME, chosen)
      },
    }
  },
})

async function begin(
  round: RoundView,
  options: Settings,
  { context, tally }: { context: Context; tally: Tally },
): Promise<Climb[]> {
  const costOf = ({ rollouts }: Group): number =>
    writingCost(options, context) + options.levels * rollouts.length * context.limits.completion
  const bases = affordable(promptsToHint(round, options.threshold, context), round.tokensLeft, costOf)
  const prompts = bases.map(({ prompt }) => prompt)
  const ladders = await writeLadders(prompts, options, { context, tally })
  return bases.flatMap((base, i) => {
    const ladder = ladders[i]
    return ladder ? [{ base, ladder, level: 0 }] : []
  })
}

/** The next level that has a hint, unless the last level led to a success. */
function next(climb: Climb, index: number, round: RoundView, { threshold }: Settings): Request | undefined {
  if (climb.level > 0) {
    const landed = round.landed.get(`${index}:${climb.level}`)
    if (!landed) return undefined
    climb.last = landed
    if (passRate(landed, threshold) > 0) return undefined
  }
  const above = climb.ladder.findIndex((hint, i) => i >= climb.level && hint !== undefined)
  if (above < 0) return undefined
  climb.level = above + 1
  const { prompt, rollouts, id } = climb.base
  const rewrite = { after: climb.ladder[above]!, arm: 'hint', tainted: true, level: climb.level }
  return {
    id: `${index}:${climb.level}`,
    prompt,
    rollouts: rollouts.length,
    rewrite,
    keep: 'train',
    parent: id,
  }
}
