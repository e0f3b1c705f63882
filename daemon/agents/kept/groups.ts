// Makes groups of rated answers. Answers to one prompt are compared with each other, if their rewards differ; all other
// answers are compared with one another, whatever was asked: their mean reward is the baseline. It does not depend on the
// answer that it is compared with more than by that answer's own share in the mean, so what is learnt is right on average
// and noisier than with a prompt's own baseline.

import { type Group, isZeroSignal, KEPT_ARM, type PolicyReference } from '../../../protocol/train/index.ts'
import { groupOf } from '../book/rows.ts'
import type { Conversation } from './conversation.ts'

/** The task's name in records and curves. */
const TASK = 'feedback'
/** Most answers of one group. */
const MOST = 64

/**
 * Groups of these rated answers, oldest first; none while fewer than `size` wait or their rewards are equal. With a size
 * of 1, which estimators have that need no groups, each answer is one.
 */
export function ratedGroups(waiting: readonly Conversation[], size: number): Conversation[][] {
  if (size === 1) return waiting.map((one) => [one])
  if (waiting.length < size || !differ(waiting)) return []
  const prompts = [...Map.groupBy(waiting, ({ prompt }) => prompt.join()).values()].filter(differ)
  const rest = waiting.filter((one) => !prompts.some((group) => group.includes(one)))
  return [...prompts, ...(differ(rest) ? [rest] : [])].flatMap((group) => parts(group, MOST))
}

function differ(some: readonly Conversation[]): boolean {
  return !isZeroSignal(some.map(({ rating }) => rating!.reward))
}

/** As few parts as possible, of equal sizes; the last answers may be alike, and then they are in one part with others. */
function parts(group: Conversation[], most: number): Conversation[][] {
  if (group.length <= most) return [group]
  const half = Math.ceil(group.length / 2)
  const both = [group.slice(0, half), group.slice(half)]
  return both.every(differ) ? both.flatMap((one) => parts(one, most)) : [group]
}

interface GroupOptions {
  /** Random, so that it says nothing of what is in the group. */
  id: string
  policy: PolicyReference
  author: string
  now: number
}

/** The group to train on. */
export function trainingGroup(members: readonly Conversation[], { id, ...options }: GroupOptions): Group {
  const made = groupOf(
    members.map(({ prompt, text, sample, rating, id: call }) => ({
      ...{ task: TASK, group: id, reward: { value: rating!.reward } },
      counted: [{ id: call, prompt, text, sample }],
    })),
    options,
  )
  const rollouts = made!.rollouts.map((rollout) => ({ ...rollout, arm: KEPT_ARM }))
  return { ...made!, id, arm: KEPT_ARM, rollouts }
}
