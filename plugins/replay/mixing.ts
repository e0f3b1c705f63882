// Cross-context replay (R³, arXiv 2601.19620): adds past successes of a prompt to an all-wrong group, and past
// failures to an all-right one.
//
// Mixing happens in the batch, just before a group is trained on. At the end of a round such a group has no
// signal and would be dropped, so it is marked to be kept if there is something to mix in. The added rollouts
// come from earlier versions of the policy, never from the step that wrote the group.

import type { BatchView, Context } from '../../protocol/plugin/index.ts'
import { type Group, isRight, promptKey } from '../../protocol/train/index.ts'
import type { ReplayBuffer } from './kept/buffer.ts'
import { canReplay, replayOf, type Stored } from './kept/stored.ts'
import type { Visits } from './kept/visits.ts'

interface MixOptions {
  k: number
  uses: number
  epochs: number
  versions: number
}

/** Far more groups than ever wait to be trained on. */
const MAX_RANKED = 4096

interface Mixer {
  mix(groups: Group[], view: BatchView, context: Context): Group[]
  /**
   * Records that the group's failures were ranked, so that its advantages also follow this plugin's formula.
   */
  noteRanked(group: Group): void
  /** True if the group was mixed in the last batch, or ranked. */
  isChanged(group: Group): boolean
  save(): unknown
  load(saved: unknown): void
}

export function createMixer(
  { k, uses, epochs, versions }: MixOptions,
  { buffer, visits }: { buffer: ReplayBuffer; visits: Visits },
): Mixer {
  let mixed = new Set<string>()
  let ranked = new Set<string>()

  /** Stored rollouts that may be mixed in, most recent first. */
  const candidates = (group: Group, version: number): Stored[] => {
    const right = group.rollouts.filter(isRight).length
    if (right > 0 && right < group.rollouts.length) return []
    const lane = buffer.lane(`${promptKey(group.prompt)}/${right > 0 ? 'wrong' : 'right'}`)
    return lane
      .filter(
        (stored) =>
          stored.group !== group.id &&
          stored.version < group.bornVersion &&
          version - stored.version <= versions &&
          visits.count(group.prompt) - stored.mark <= epochs &&
          stored.uses < uses,
      )
      .reverse()
      .slice(0, k)
  }

  return {
    noteRanked({ id }) {
      ranked.add(id)
      if (ranked.size > MAX_RANKED) ranked.delete(ranked.values().next().value!)
    },
    isChanged: ({ id }) => mixed.has(id) || ranked.has(id),
    save: () => [...ranked],
    load(saved) {
      ranked = new Set(Array.isArray(saved) ? (saved as string[]) : [])
    },
    mix(groups, view, context) {
      buffer.belongTo(view)
      // Versions ahead of the policy were undone by a roll-back.
      buffer.drop(({ version, uses: used }) => version > view.version || used >= uses)
      if (view.at === 'batch') mixed = new Set()
      let added = 0
      const result = groups.map((group) => {
        if (group.author !== view.self || !group.rollouts.every(canReplay)) return group
        const found = candidates(group, view.version)
        if (found.length === 0) return group
        if (view.at !== 'batch') return { ...group, always: true }
        mixed.add(group.id)
        added += found.length
        const rollouts = [...group.rollouts, ...found.flatMap(replayOf)]
        for (const stored of found) stored.uses += 1
        const tainted = group.tainted || found.some((stored) => stored.tainted)
        return { ...group, rollouts, ...(tainted && { tainted }) }
      })
      if (view.at === 'batch') context.metric('replayed', added)
      return result
    },
  }
}

/** A = (R - mean) / (alpha std + lambda); zeros if all rewards are equal. */
export function mixedAdvantages(
  rewards: readonly number[],
  { alpha, lambda, std }: { alpha: number; lambda: number; std: 'sample' | 'population' },
): number[] {
  const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length
  const squares = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0)
  const deviation = Math.sqrt(squares / Math.max(1, rewards.length - (std === 'sample' ? 1 : 0)))
  if (deviation < 1e-6) return rewards.map(() => 0)
  return rewards.map((reward) => (reward - mean) / (alpha * deviation + lambda))
}
