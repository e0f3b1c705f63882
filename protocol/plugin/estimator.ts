// Defines an estimator: a plugin whose `advantage` hook never sees rewards large enough to overflow.
//
// Two rewards of 1e308 sum to infinity, and reward minus mean is then minus infinity for every rollout, even
// the best. So rewards beyond 1e100 are clamped to it, which keeps sums and squares finite. NaN and infinite
// rewards are left unchanged: estimators leave such rollouts out.

import type { Group, Rollout } from '../train/index.ts'
import type { Hooks } from './hooks.ts'
import { definePlugin, type Plugin } from './plugin.ts'

const LARGEST = 1e100

export function defineEstimator<Settings>(
  estimator: Omit<Plugin<Settings>, 'kind' | 'api'>,
): Plugin<Settings> {
  return definePlugin({
    ...estimator,
    kind: 'estimator',
    api: 1,
    create(settings): Hooks {
      const hooks = estimator.create(settings)
      const { advantage } = hooks
      if (!advantage) return hooks
      return { ...hooks, advantage: (groups, context) => advantage(groups.map(withSaneRewards), context) }
    },
  })
}

/** Returns the group itself if nothing has to change, which is nearly always the case. */
function withSaneRewards(group: Group): Group {
  const rollouts = group.rollouts.map(sane)
  return rollouts.every((rollout, i) => rollout === group.rollouts[i]) ? group : { ...group, rollouts }
}

function sane(rollout: Rollout): Rollout {
  const { reward, turns = [], rewardParts = {} } = rollout
  if ([reward, ...turns.map((turn) => turn.reward), ...Object.values(rewardParts)].every(isSane))
    return rollout
  return {
    ...rollout,
    reward: cut(reward),
    ...(rollout.turns && { turns: turns.map((turn) => ({ ...turn, reward: cut(turn.reward) })) }),
    ...(rollout.rewardParts && {
      rewardParts: Object.fromEntries(Object.entries(rewardParts).map(([name, part]) => [name, cut(part)])),
    }),
  }
}

const isSane = (reward: number): boolean => !Number.isFinite(reward) || Math.abs(reward) <= LARGEST
const cut = (reward: number): number =>
  Number.isFinite(reward) ? Math.max(-LARGEST, Math.min(LARGEST, reward)) : reward
