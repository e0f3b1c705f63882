// Groups of SAGE's chains: chooses the second prompt, and computes rollouts' outcomes and rewards over both prompts.

import { type Group, isRight, type PromptCoordinates, promptKey } from '../../../protocol/train/index.ts'
import type { Outcome } from './chains.ts'

export const CHAINED = 'skill/sage_chain'

/** Another prompt of the round with the same task and difficulty, or else a new one. */
export function secondOf(group: Group, groups: readonly Group[], newSeed: () => number): PromptCoordinates {
  const { prompt } = group
  const scenario = groups.filter(
    (other) =>
      other.prompt.task === prompt.task &&
      other.prompt.taskVersion === prompt.taskVersion &&
      other.prompt.difficulty === prompt.difficulty,
  )
  const next = scenario[(scenario.indexOf(group) + 1) % scenario.length]!.prompt
  return promptKey(next) === promptKey(prompt) ? { ...prompt, seed: newSeed() } : next
}

export function outcomeOf(
  { prompt }: Group,
  rollout: Group['rollouts'][number],
  verify: (at: PromptCoordinates, text: string) => { found: string },
): Outcome {
  const right = isRight(rollout)
  return {
    right,
    whole: rollout.finish === 'stop' && (right || verify(prompt, rollout.text).found === 'tag'),
  }
}

export function together(groups: readonly Group[]): Group {
  const rollouts = groups.flatMap(({ rollouts: of, conditioning }) =>
    of.map((one) => ({ ...one, conditioning })),
  )
  return { ...groups[0]!, ...(groups.some(({ tainted }) => tainted) && { tainted: true }), rollouts }
}

export function rewarded(
  group: Group,
  rewards: readonly number[],
  chain: { id: string; position: number },
): Group {
  return {
    ...group,
    origin: { ...group.origin, plugin: CHAINED, chain },
    rollouts: group.rollouts.map((rollout, i) => ({
      ...rollout,
      reward: rewards[i]!,
      taskReward: rollout.taskReward ?? rollout.reward,
    })),
  }
}
