// Tries a text by one verified rollout with the text in the prompt, and rates it by the result (ARISE, arXiv
// 2603.16060).
//
// Harmful: the rollout failed and the prompt was solved unaided. Neutral: both failed. Redundant: both
// succeeded. Critical: only the aided one succeeded. The four values are those of the authors' code; the
// paper gives their order.

import type { Context } from '../../../protocol/plugin/index.ts'
import { type Group, isRight } from '../../../protocol/train/index.ts'
import { askOnce } from '../library/asking.ts'
import type { Entry } from '../library/entry.ts'
import type { Library } from '../library/library.ts'

export const LEVELS = { harmful: -1, neutral: 0, redundant: 0.5, critical: 1 } as const
export type Level = (typeof LEVELS)[keyof typeof LEVELS]

/** Whether rollouts that saw only the question solved it, by this node's verifier. */
export function unaided(group: Group): boolean {
  return group.arm === 'base' && group.rollouts.some(isRight)
}

export function levelOf(at: { unaided: boolean; aided: boolean }): Level {
  if (at.unaided) return at.aided ? LEVELS.redundant : LEVELS.harmful
  return at.aided ? LEVELS.critical : LEVELS.neutral
}

/** Runs the trial. Undefined for episodes, or if the budget or the model's context has no room. */
export async function tryText(before: string, group: Group, context: Context): Promise<Level | undefined> {
  const { prompt } = group
  // A single text is not an episode, so it cannot be verified.
  if (group.rollouts.some(({ turns }) => turns !== undefined)) return undefined
  const { completion, context: room } = context.limits
  if (context.conditioning(prompt, { before }).length + completion > room) return undefined
  const asked = `${before}${context.question(prompt)}`
  // Asked like rollouts: without the node's solved examples, even a right answer might not have the expected form.
  const examples = context.examples(prompt)
  const request = { prompt: asked, examples }
  const written = await askOnce([request], { maxNewTokens: completion, temperature: 1 }, context)
  const text = written?.[0]?.text
  if (text === undefined) return undefined
  return levelOf({ unaided: unaided(group), aided: context.verify(prompt, text).score > 0.5 })
}

/** Tries one offer from a peer on a group of this round; returns the entry if the answer with it was right. */
export async function tryOffer(
  library: Library,
  groups: readonly Group[],
  context: Context,
  present: (text: string) => string,
): Promise<{ entry: Entry; level: Level } | undefined> {
  const group = groups.find(({ arm, tainted }) => arm === 'base' && !tainted)
  const found = group && library.offers.next()
  if (!group || !found) return undefined
  const { offer, peer } = found
  const entry = library.admit({ ...offer, author: peer, step: context.step })
  if (!entry || library.find(entry.id) || !library.hasRoomFor(entry)) return undefined
  if (context.leaks(group.prompt, entry.text)) return undefined
  const level = await tryText(present(entry.text), group, context)
  return level === undefined || level <= LEVELS.neutral
    ? undefined
    : { entry: { ...entry, score: level }, level }
}
