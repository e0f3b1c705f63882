// More rollouts of a prompt, and the group that asked for them, as one group to compare them all in.

import { z } from 'zod'
import type { Group, Rollout } from '../../protocol/train/index.ts'
import { contentId } from '../../protocol/wire/index.ts'

/** Setting: tokens that a plugin may have generated in a round. */
export const tokensSetting = z.number().int().positive().default(262_144)

/** The verifier's own, whatever other plugins made of it. */
export function scoreOf({ taskReward, reward }: Rollout): number {
  return taskReward ?? reward
}

/**
 * Groups that `plugin` asked for go into those that gave rise to them; each rollout keeps what it was conditioned on. With
 * any under another arm the whole group is of that arm, since peers could not make it.
 */
export function mergeExtra(groups: readonly Group[], plugin: string): Group[] {
  const extra = groups.filter(({ origin }) => origin?.plugin === plugin)
  return groups
    .filter(({ origin }) => origin?.plugin !== plugin)
    .map((base) => {
      const more = extra.filter(({ origin }) => origin!.parent === base.id)
      return more.length === 0 ? base : merged(base, more)
    })
}

function merged(base: Group, more: readonly Group[]): Group {
  const rollouts = [
    ...base.rollouts,
    ...more.flatMap((group) =>
      group.arm === base.arm
        ? group.rollouts
        : group.rollouts.map((one) => ({
            ...one,
            arm: one.arm ?? group.arm,
            conditioning: one.conditioning ?? group.conditioning,
          })),
    ),
  ]
  const arm = more.find((group) => group.arm !== base.arm)?.arm ?? base.arm
  const tainted = base.tainted || more.some((group) => group.tainted)
  return {
    ...base,
    id: contentId(
      base.prompt,
      rollouts.map(({ text }) => text),
    ),
    arm,
    rollouts,
    ...(tainted && { tainted }),
  }
}
