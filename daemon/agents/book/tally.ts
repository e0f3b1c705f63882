// Counts the results of agents' rollouts, for the screen and the metrics.

import type { AgentsInfo } from '../../../protocol/api/index.ts'
import type { Group } from '../../../protocol/train/index.ts'

/** How many of the latest rewards count as recent. */
const RECENT = 256
/** How many names of settings are told apart. Clients choose them. */
const MAX_NAMES = 16

export interface Tally {
  reward(mode: 'train' | 'eval', value: number): void
  drop(why: string): void
  /** An answer that nobody got. */
  undelivered(tokens: number): void
  /** Settings that a request or its answer does not keep. */
  unkept(names: readonly string[]): void
  group(group: Group): void
  info(): Pick<
    AgentsInfo,
    'rewarded' | 'groups' | 'rows' | 'split' | 'undelivered' | 'dropped' | 'unkept' | 'reward' | 'evalReward'
  >
}

export function createTally(): Tally {
  const recent = { train: [] as number[], eval: [] as number[] }
  const dropped: Record<string, number> = {}
  const unkept = new Map<string, number>()
  const undelivered = { answers: 0, tokens: 0 }
  let [rewarded, groups, rows, split] = [0, 0, 0, 0]
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
    unkept(names) {
      // Every client names a model of its own.
      for (const name of names.filter((one) => one !== 'model')) {
        const key = unkept.has(name) || unkept.size < MAX_NAMES ? name : 'other'
        unkept.set(key, (unkept.get(key) ?? 0) + 1)
      }
    },
    undelivered(tokens) {
      undelivered.answers += 1
      undelivered.tokens += tokens
    },
    group({ rollouts }) {
      groups += 1
      rows += rollouts.length
      split += new Set(rollouts.flatMap(({ episode }) => episode ?? [])).size
    },
    info: () => ({
      ...{ rewarded, groups, rows, split, undelivered: { ...undelivered }, dropped: { ...dropped } },
      ...(unkept.size === 0 ? {} : { unkept: Object.fromEntries(unkept) }),
      ...(recent.train.length === 0 ? {} : { reward: mean(recent.train) }),
      ...(recent.eval.length === 0 ? {} : { evalReward: mean(recent.eval) }),
    }),
  }
}
