// Text around prompts: the leak gate, and how rewrites of several plugins become one.
//
// A rewrite is tainted if its plugin says so, or if the plugin has seen the prompt's reference solution, whatever it says.
// Tainted text that gives the answer away is refused, and in evaluation tainted text is refused altogether.

import { leaksAnswer, type Rewrite } from '../../protocol/plugin/index.ts'
import { isHeldOut, type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'
import type { Active } from './active.ts'
import type { Composed, World } from './contract.ts'

export interface Offered {
  active: Active
  rewrite: Rewrite
}

export function isTainted({ active, rewrite }: Offered, at: PromptCoordinates): boolean {
  return rewrite.tainted || active.tally.toldMany || active.tally.told.has(promptKey(at))
}

/** Why it must not be used; undefined if it may. */
export function refusalOf(
  offered: Offered,
  at: PromptCoordinates,
  phase: 'train' | 'eval',
  world: World | undefined,
): string | undefined {
  if (!isTainted(offered, at)) return undefined
  if (phase === 'eval' || isHeldOut(at.seed))
    return 'a rewrite made with the reference solution was refused: it has no place in evaluation'
  const { before = '', after = '' } = offered.rewrite
  if (!world) return 'a rewrite was refused: the node is not open yet'
  const { key } = world.instance(at)
  return [before, after, `${before} ${after}`].some((text) => leaksAnswer(key, text))
    ? 'a rewrite was refused: it gives the answer away'
    : undefined
}

/** Nested, the first one outermost. Undefined for none. */
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
