// Shared by the hint plugins: which groups are all wrong, how much a hint may cost, and replacing one group with
// another.
//
// The verifier's own score decides, not a reward set by another plugin. Only groups of the plain prompt qualify: a
// prompt that a skill or an experience has already rewritten gets no hint.

import { z } from 'zod'
import type { Context, RoundView } from '../../protocol/plugin/index.ts'
import type { Example, Group, PromptCoordinates, Rollout } from '../../protocol/train/index.ts'

/**
 * Setting: tokens that a plugin may spend on generation per round, for hints and hinted rollouts together.
 */
export const tokensSetting = z.number().int().positive().default(262_144)

/**
 * Maximum tokens of a hint. A hint may be longer than an answer, up to a quarter of the context, which leaves room for
 * its writer's prompt.
 */
export function hintLimit(most: number, { completion, context }: Context['limits']): number {
  return Math.min(most, Math.max(completion, Math.floor(context / 4)))
}

/** Solved examples for a hint's writer, unless they take more than a quarter of the context. */
export function examplesFor(
  all: readonly Example[],
  { countTokens, limits }: Context,
): { examples: readonly Example[]; tokens: number } {
  const texts = all.flatMap(({ question, answer }) => [question, answer])
  const tokens = texts.reduce((sum, text) => sum + countTokens(text) + TURN, 0)
  return 4 * tokens <= limits.context ? { examples: all, tokens } : { examples: [], tokens: 0 }
}

/** Upper estimate of the tokens that a chat template adds around a turn. */
export const TURN = 64

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

/** As many of the first groups as the budget allows if every text has the maximum length. */
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

/** True if the question with the hint leaves room for an answer and is within the method's limit. */
export function fits(at: PromptCoordinates, after: string, longest: number, context: Context): boolean {
  const { length } = context.conditioning(at, { after })
  return length <= longest && length + context.limits.completion <= context.limits.context
}

/** Drops the groups that a plugin requested, except those that replace their parent group. */
export function standIn(
  groups: readonly Group[],
  plugin: string,
  chosen: ReadonlyMap<string, Group>,
): Group[] {
  return groups
    .filter(({ origin }) => origin?.plugin !== plugin)
    .map((group) => chosen.get(group.id) ?? group)
}

/** Reports how many of a round's prompts were hinted, and how many of these were solved with a hint. */
export function tell(context: Context, { prompts, solved }: { prompts: number; solved: number }): void {
  context.metric('prompts', prompts)
  context.metric('solved', solved)
}
