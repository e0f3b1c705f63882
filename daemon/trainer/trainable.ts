// Checks whether an engine can train on a group. A single bad group would fail the whole batch, so the
// learner checks every group before plugins see the batch, and again after they have changed it.

import { type Group, hasSignal, type Rollout } from '../../protocol/train/index.ts'
import type { DecoderSpec } from '../engine/decoder.ts'
import { sequenceFault } from '../engine/inputs.ts'

interface Untrainable {
  reason: string
  /** True if the author's data is invalid; false if this node's context window is too short for it. */
  blamesAuthor: boolean
}

/** Whether a step learns anything from the group. */
export function isUseful(group: Group, { learnsFromAny }: { learnsFromAny: boolean }): boolean {
  return learnsFromAny || group.always === true || hasSignal(group)
}

/** Why the group cannot be trained on; undefined if it can. */
export function untrainable(
  { conditioning, rollouts }: Group,
  spec: Pick<DecoderSpec, 'contextLength' | 'vocabulary'>,
): Untrainable | undefined {
  for (const rollout of rollouts) {
    const sequence = { conditioning: rollout.conditioning ?? conditioning, completion: rollout.tokens }
    const reason = sequenceFault(sequence, spec) ?? rolloutFault(rollout)
    if (reason === undefined) continue
    const length = sequence.conditioning.length + sequence.completion.length
    return { reason, blamesAuthor: length <= spec.contextLength }
  }
  return undefined
}

function rolloutFault({ tokens, behaviourLogprobs, lossMask, reward }: Rollout): string | undefined {
  if (behaviourLogprobs && behaviourLogprobs.length !== tokens.length)
    return `${behaviourLogprobs.length} log-probs for ${tokens.length} tokens`
  if (lossMask && lossMask.length !== tokens.length)
    return `a loss mask of ${lossMask.length} for ${tokens.length} tokens`
  return Number.isFinite(reward) ? undefined : 'a reward that is not finite'
}
