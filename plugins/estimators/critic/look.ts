// Scores a batch for the critic: V before each token and the log-probs, plus the hidden states of a sample of
// tokens to fit the head on. It works in portions, so memory holds only that sample and one portion's states.

import type { Context, Random, ScoreItem } from '../../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { type Head, newHead, predicted } from './head.ts'

export interface Look {
  head: Head | undefined
  /** V by group, rollout and token. Empty for rollouts that were not scored, NaN at an environment's tokens. */
  values: Float64Array[][]
  logprobs: Float32Array[][]
  kept: Kept
}

export interface Kept {
  positions: Array<{ group: number; rollout: number; token: number }>
  /** One hidden state per token, shape [tokens, width], row-major. */
  states: Float32Array
}

export interface Chosen {
  /** Rollouts to predict values for. */
  isSeen(rollout: Rollout): boolean
  /** Groups whose tokens the head may be fitted on. */
  isFitted(group: Group): boolean
  /** Maximum number of tokens to fit the head on, drawn uniformly from all candidates. */
  tokens: number
}

/** Tokens per portion: 29 MB of states for a model of width 896. */
const PORTION = 8192

export async function look(
  groups: readonly Group[],
  before: Head | undefined,
  { isSeen, isFitted, tokens: most }: Chosen,
  { context, random }: { context: Context; random: Random },
): Promise<Look> {
  const values = groups.map(({ rollouts }) => rollouts.map(() => new Float64Array()))
  const logprobs = groups.map(({ rollouts }) => rollouts.map(() => new Float32Array()))
  const seen = groups.flatMap((group, g) =>
    group.rollouts.flatMap((rollout, r) =>
      // Engines reject completions without tokens.
      rollout.tokens.length > 0 && isSeen(rollout) ? [{ group, rollout, g, r }] : [],
    ),
  )
  let left = seen.reduce((sum, { group, rollout }) => sum + (isFitted(group) ? writtenTokens(rollout) : 0), 0)
  const count = Math.min(most, left)
  const positions: Kept['positions'] = []
  let head = before
  let states = new Float32Array()
  for (const portion of portionsOf(seen)) {
    const items = portion.map(({ group, rollout }) => itemOf(group, rollout))
    const scored = await context.score(items, { hidden: true })
    portion.forEach(({ group, rollout, g, r }, i) => {
      const { hidden, logprobs: found } = scored[i]!
      const { length } = rollout.tokens
      const width = (hidden?.length ?? 0) / length
      if (!hidden || !Number.isInteger(width) || width === 0)
        throw new Error('a value head needs hidden states, but the engine returned none')
      // A different width means that the head was fitted on another model.
      if (head?.width !== width) head = newHead(width)
      if (states.length === 0) states = new Float32Array(count * width)
      logprobs[g]![r] = Float32Array.from(found)
      const row = new Float64Array(length).fill(Number.NaN)
      values[g]![r] = row
      for (let t = 0; t < length; t++) {
        if (rollout.lossMask?.[t] === 0) continue
        row[t] = predicted(head, hidden, t * width)
        if (!isFitted(group)) continue
        // Selection sampling (Knuth, algorithm S): each remaining token is equally likely.
        if (random() * left-- < count - positions.length) {
          states.set(hidden.subarray(t * width, (t + 1) * width), positions.length * width)
          positions.push({ group: g, rollout: r, token: t })
        }
      }
    })
  }
  return { head, values, logprobs, kept: { positions: positions, states } }
}

export function itemOf({ conditioning }: Group, rollout: Rollout): ScoreItem {
  return { conditioning: rollout.conditioning ?? conditioning, completion: rollout.tokens }
}

function writtenTokens({ tokens, lossMask }: Rollout): number {
  return lossMask ? lossMask.reduce((sum, mine) => sum + (mine === 0 ? 0 : 1), 0) : tokens.length
}

function portionsOf<Seen extends { rollout: Rollout }>(seen: readonly Seen[]): Seen[][] {
  const portions: Seen[][] = []
  let room = 0
  for (const one of seen) {
    const { length } = one.rollout.tokens
    if (length > room || portions.length === 0) {
      portions.push([])
      room = PORTION
    }
    portions.at(-1)!.push(one)
    room -= length
  }
  return portions
}
