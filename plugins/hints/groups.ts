// What the hint plugins share about groups: which are all wrong, what a hint may cost, and how one group takes another's
// place.
//
// The verifier's own score decides, not what another plugin made of it. Only groups of the plain prompt are looked at:
// a prompt that was rewritten once, by a skill or an experience, is not hinted on top.

import { z } from 'zod'
import type { Context, RoundView } from '../../protocol/plugin/index.ts'
import type { Group, PromptCoordinates, Rollout } from '../../protocol/train/index.ts'

/** Setting: tokens that a plugin may have generated in a round, hints and hinted rollouts together. */
export const tokensSetting = z.number().int().positive().default(262_144)

export function scoreOf(rollout: Rollout): number {
  return rollout.taskReward ?? rollout.reward
}

/** Share of rollouts with a score above the threshold. */
export function passRate({ rollouts }: Group, above: number): number {
  return rollouts.length === 0 ? 0 : rollouts.filter((one) => scoreOf(one) > above).length / rollouts.length
}

export function promptsToHint({ groups }: RoundView, above: number, context: Context): Group[] {
  return groups.filter(
    (group) =>
      group.arm === 'base' && passRate(group, above) === 0 && context.privileged(group.prompt) !== null,
  )
}

/** As many groups, from the first on, as the budget pays for if every text is as long as it can be. */
export function affordable(
  groups: readonly Group[],
  tokensLeft: number,
  costOf: (group: Group) => number,
): Group[] {
  let left = tokensLeft
  return groups.filter((group) => {
    left -= costOf(group)
    return left >= 0
  })
}

/** True if the question with the hint leaves room for an answer, and is not longer than the method allows. */
export function fits(at: PromptCoordinates, after: string, longest: number, context: Context): boolean {
  const { length } = context.conditioning(at, { after })
  return length <= longest && length + context.limits.completion <= context.limits.context
}

/** Groups that a plugin asked for are gone, but those that stand in for the group which gave rise to them. */
export function standIn(
  groups: readonly Group[],
  plugin: string,
  chosen: ReadonlyMap<string, Group>,
): Group[] {
  return groups
    .filter(({ origin }) => origin?.plugin !== plugin)
    .map((group) => chosen.get(group.id) ?? group)
}

/** Of a round: prompts that were hinted, and those of them that a hint brought a success. */
export function tell(context: Context, { prompts, solved }: { prompts: number; solved: number }): void {
  context.metric('prompts', prompts)
  context.metric('solved', solved)
}
