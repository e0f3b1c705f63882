// Draws records from a buffer, and turns them into groups that can be trained on.

import { createHash } from 'node:crypto'
import type { BatchView, Random } from '../../../protocol/plugin/index.ts'
import { type Group, hasSignal } from '../../../protocol/train/index.ts'
import { replayOf, type Stored } from './stored.ts'

/** Draws without replacement, in the order drawn; never draws items of weight 0. */
export function drawByWeight<Item>(
  items: readonly Item[],
  weights: readonly number[],
  count: number,
  random: Random,
): Item[] {
  const left = items.map((item, i) => ({ item, weight: weights[i]! })).filter(({ weight }) => weight > 0)
  const drawn: Item[] = []
  while (drawn.length < count && left.length > 0) {
    const at = random() * left.reduce((sum, { weight }) => sum + weight, 0)
    let [index, passed] = [0, left[0]!.weight]
    // Stop at the last item even if rounding leaves a remainder.
    while (passed <= at && index < left.length - 1) passed += left[++index]!.weight
    drawn.push(left.splice(index, 1)[0]!.item)
  }
  return drawn
}

/** Whether a batch can learn from the group; groups of equal rewards are dropped later. */
export function teaches(group: Group): boolean {
  return group.always === true || hasSignal(group)
}

/** Counts as a use of the record. The group is trained on even if its rewards are equal, and is never shared. */
export function replayGroup(
  stored: Stored,
  { view, plugin, request }: { view: BatchView; plugin: string; request: string },
): Group {
  const rollouts = replayOf(stored)
  stored.uses += 1
  const { conditioning, arm } = stored.rollouts[0]!
  return {
    // A unique id: several samples of a group may be drawn into one batch.
    id: createHash('sha256').update(`${plugin}/${request}/${stored.group}`).digest('hex'),
    prompt: stored.prompt,
    conditioning,
    author: view.self,
    policy: { lineage: view.lineage, tokenizer: view.tokenizer, version: stored.version },
    arm,
    origin: { plugin, request, parent: stored.group },
    ...(stored.tainted && { tainted: true }),
    always: true,
    rollouts,
    bornAt: stored.bornAt,
    bornVersion: stored.version,
  }
}
