// Combines the rewrites of several plugins, and refuses those that leak the answer.
//
// A rewrite is tainted if its plugin says so, or if the plugin has seen the prompt's reference solution.
// Tainted text is refused if it gives the answer away, and always in an evaluation.

import { leaksAnswer, type Rewrite } from '../../../protocol/plugin/index.ts'
import { isHeldOut, type PromptCoordinates, promptKey } from '../../../protocol/train/index.ts'
import type { Active } from '../active.ts'
import type { Composed, World } from '../contract.ts'

export interface Offered {
  active: Active
  rewrite: Rewrite
}

export function isTainted({ active, rewrite }: Offered, at: PromptCoordinates): boolean {
  return rewrite.tainted || isTold(active, at)
}

/** True if the plugin has, or may have, seen the prompt's reference solution. */
export function isTold({ tally }: Active, at: PromptCoordinates): boolean {
  return tally.toldMany || tally.told.has(promptKey(at))
}

/** The reason for refusing the rewrite; undefined if it may be used. */
export function refusalOf(
  offered: Offered,
  at: PromptCoordinates,
  phase: 'train' | 'eval',
  world: World | undefined,
): string | undefined {
  if (!isTainted(offered, at)) return undefined
  if (phase === 'eval' || isHeldOut(at.seed))
    return 'a rewrite made with the reference solution was refused: evaluations do not allow it'
  const { before = '', after = '' } = offered.rewrite
  if (!world) return 'a rewrite was refused: the node is not open yet'
  const { key } = world.instance(at)
  return [before, after, `${before} ${after}`].some((text) => leaksAnswer(key, text))
    ? 'a rewrite was refused: it gives the answer away'
    : undefined
}

/** Nests the rewrites, the first one outermost. Undefined if there are none. */
export function nest(offers: readonly Offered[], at: PromptCoordinates): Composed | undefined {
  const first = offers[0]
  if (!first) return undefined
  const items = offers.flatMap(({ rewrite }) => rewrite.items ?? [])
  const level = offers.find(({ rewrite }) => rewrite.level !== undefined)?.rewrite.level
  return {
    before: offers.map(({ rewrite }) => rewrite.before ?? '').join(''),
    after: offers
      .map(({ rewrite }) => rewrite.after ?? '')
      .reverse()
      .join(''),
    arm: offers.map(({ rewrite }) => rewrite.arm).join('+'),
    tainted: offers.some((offered) => isTainted(offered, at)),
    origin: {
      plugin: first.active.id,
      ...(level === undefined ? {} : { level }),
      ...(items.length === 0 ? {} : { items }),
    },
  }
}
