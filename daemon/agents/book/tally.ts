// Counts the results of agents' rollouts, for the screen and the metrics.

import type { AgentsInfo } from '../../../protocol/api/index.ts'
import type { Group } from '../../../protocol/train/index.ts'

/** How many of the latest rewards count as recent. */
const RECENT = 256

export interface Tally {
  reward(mode: 'train' | 'eval', value: number): void
  drop(why: string): void
  group(group: Group): void
  info(): Pick<AgentsInfo, 'rewarded' | 'groups' | 'rows' | 'dropped' | 'reward' | 'evalReward'>
}

export function createTally(): Tally {
  const recent = { train: [] as number[], eval: [] as number[] }
  const dropped: Record<string, number> = {}
  let [rewarded, groups, rows] = [0, 0, 0]
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length
  return {
    reward(mode, value) {
      rewarded += 1
      recent[mode].push(value)
      if (recent[mode].length > RECENT) recent[mode].shift()
    },
    drop(why) {
      dropped[why] = (dropped[why] ?? 0) + 1
    },
    group({ rollouts }) {
      groups += 1
      rows += rollouts.length
    },
    info: () => ({
      ...{ rewarded, groups, rows, dropped: { ...dropped } },
      ...(recent.train.length === 0 ? {} : { reward: mean(recent.train) }),
      ...(recent.eval.length === 0 ? {} : { evalReward: mean(recent.eval) }),
    }),
  }
}
