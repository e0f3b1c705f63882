// Merges a prompt's extra rollouts into the group that they extend, so that all are compared together.

import { z } from 'zod'
import type { Group, Rollout } from '../../protocol/train/index.ts'
import { contentId } from '../../protocol/wire/index.ts'

/** Setting: tokens that a plugin may spend on generation per round. */
export const tokensSetting = z.number().int().positive().default(262_144)

/** The verifier's score, whatever reward other plugins have set. */
export function scoreOf({ taskReward, reward }: Rollout): number {
  return taskReward ?? reward
}

/**
 * Moves the rollouts of groups that `plugin` requested into their parent groups. Each rollout keeps its own
 * conditioning. If any has another arm, the whole group takes that arm, since peers could not reproduce it.
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
