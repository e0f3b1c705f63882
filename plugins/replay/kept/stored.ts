// A stored rollout, complete enough to be trained on again: conditioning, tokens, behaviour log-probs and
// author.
//
// The loss of a replayed rollout conditions on the stored conditioning, never on the plain question, and its
// importance weight needs the behaviour policy's log-probs. Rollouts without them cannot be corrected and are
// rejected.

import { WaggleError } from '../../../protocol/errors.ts'
import { type Group, KEPT_ARM, type PromptCoordinates, type Rollout } from '../../../protocol/train/index.ts'

interface StoredRollout extends Rollout {
  behaviourLogprobs: Float32Array
  conditioning: Int32Array
  arm: string
}

/** One rollout or a whole group, of one prompt. */
export interface Stored {
  /** First in, first out within a lane. */
  lane: string
  prompt: PromptCoordinates
  /** Id of its original group. */
  group: string
  /** This node's policy version when it was written. */
  version: number
  bornAt: number
  /** Its conditioning may reveal part of the answer key. */
  tainted: boolean
  /** How often it has been replayed. */
  uses: number
  /** The plugin's own data, such as the visit of the prompt that it comes from. */
  mark: number
  rollouts: StoredRollout[]
  /** One per rollout, if the stored advantages must be kept. */
  advantages?: Array<number | Float32Array>
}

/** True for a fresh rollout whose behaviour log-probs are known, unless its owner may delete it. */
export function canReplay(rollout: Rollout): boolean {
  return (
    rollout.replayed === undefined &&
    rollout.arm !== KEPT_ARM &&
    rollout.behaviourLogprobs?.length === rollout.tokens.length
  )
}

/** Shares its arrays with the group. Throws if `canReplay` is false. */
export function storedOf(
  group: Group,
  rollouts: readonly Rollout[],
  { lane, mark = 0, advantages }: { lane: string; mark?: number; advantages?: Array<number | Float32Array> },
): Stored {
  return {
    lane,
    prompt: group.prompt,
    group: group.id,
    version: group.bornVersion,
    bornAt: group.bornAt,
    tainted: group.tainted === true,
    uses: 0,
    mark,
    rollouts: rollouts.map((rollout) => {
      const { behaviourLogprobs, entropies: _, ...rest } = rollout
      if (!behaviourLogprobs || !canReplay(rollout)) {
        throw new WaggleError('E_PLUGIN', 'a rollout without behaviour log-probs cannot be replayed', {
          hint: 'Rollouts of other tokenizers and replayed ones have none: leave them out with canReplay.',
        })
      }
      return {
        ...rest,
        behaviourLogprobs,
        conditioning: rollout.conditioning ?? group.conditioning,
        arm: rollout.arm ?? group.arm,
      }
    }),
    ...(advantages && { advantages }),
  }
}

/** The rollouts for a batch. `replayed` includes the original use. */
export function replayOf(stored: Stored): Rollout[] {
  return stored.rollouts.map((rollout) => ({ ...rollout, replayed: stored.uses + 1 }))
}

/** Approximate size in memory and on disk. */
export function bytesOf({ rollouts, advantages = [] }: Stored): number {
  return rollouts.reduce(
    (sum, { tokens, conditioning, text, segments, lossMask, turns = [] }, i) =>
      sum +
      8 * tokens.length +
      4 * conditioning.length +
      2 * text.length +
      32 * segments.length +
      (lossMask?.length ?? 0) +
      turns.reduce((all, turn) => all + 96 + 2 * (turn.observation.length + turn.state.length), 0) +
      (typeof advantages[i] === 'object' ? 4 * advantages[i].length : 0) +
      160,
    240,
  )
}
