// Shared by estimators with a critic. Predicts a batch's values before its rewards are used, and fits the value
// head after its advantages have been computed, so that no reward influences its own baseline.
//
// The head is fitted in `commit`. So advantages depend only on the state before the batch, and a batch that is
// lost does not change the critic.

import { z } from 'zod'
import type { Context } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { fitted, type Head, type Samples } from './head.ts'
import { type Chosen, type Look, look } from './look.ts'
import { headBytes, headOf } from './state.ts'

/**
 * Settings of an estimator's `head`. A batch has many tokens but few rewards, so a head that is fitted too fast
 * memorises it. In trials on batches of 32 answers of a small model, settings like these predicted the next
 * batch best.
 */
export const headSettings = z
  .strictObject({
    /** AdamW's learning rate, for states of length about 1. */
    rate: z.number().positive().default(0.003),
    epochs: z.int().min(1).max(64).default(4),
    /** Tokens per step of the fit. */
    batch: z.int().min(1).max(65_536).default(1024),
    /** AdamW's weight decay. */
    decay: z.number().nonnegative().max(1).default(0.01),
    /** Maximum change of a token's V in one fit, in units of reward; null for no limit. */
    clip: z.number().positive().nullable().default(null),
    /** Maximum tokens of a batch to fit on. Their hidden states stay in memory until the update is done. */
    tokens: z.int().min(1).max(1_048_576).default(8192),
  })
  .prefault({})
type HeadSettings = z.output<typeof headSettings>

interface Critic {
  /** Predicted values of a batch that the head has not been fitted on yet. */
  look(groups: readonly Group[], chosen: Omit<Chosen, 'tokens'>, context: Context): Promise<Look>
  /** Keeps target values for `fit`, indexed by group, rollout and token. NaN where there is no target. */
  hold(seen: Look, targets: ReadonlyArray<ReadonlyArray<Float64Array>>, context: Context): void
  /** Fits the head to the kept targets, once. */
  fit(context: Context): void
  save(): Uint8Array
  load(bytes: Uint8Array): void
}

export function createCritic({ tokens, ...options }: HeadSettings): Critic {
  let head: Head | undefined
  let held: { head: Head; samples: Samples } | undefined
  return {
    look(groups, chosen, context) {
      held = undefined
      const random = context.random(`critic/tokens/${context.step}`)
      return look(groups, head, { ...chosen, tokens }, { context, random })
    },

    hold(seen, targets, context) {
      for (const [name, value] of Object.entries(quality(seen.values, targets))) context.metric(name, value)
      if (!seen.head) return
      const { positions, states } = seen.kept
      const of = (rows: ReadonlyArray<ReadonlyArray<Float64Array>>): Float64Array =>
        Float64Array.from(positions, ({ group, rollout, token }) => rows[group]![rollout]![token]!)
      held = { head: seen.head, samples: { states, targets: of(targets), said: of(seen.values) } }
    },

    fit(context) {
      if (!held) return
      const next = fitted(held.head, held.samples, options, context.random(`critic/fit/${context.step}`))
      held = undefined
      if (next) head = next
      else
        context.log(
          'fitting the value head to this batch gave numbers that are not finite; the head stays unchanged',
        )
    },

    save: () => headBytes(head),
    load(bytes) {
      head = headOf(bytes)
      held = undefined
    },
  }
}

/**
 * Half the mean squared error of the predictions before the fit, and the share of the targets' variance that
 * they explain: 1 at best, 0 for a constant, negative for worse. Empty if there is no variance to explain.
 */
export function quality(
  said: ReadonlyArray<ReadonlyArray<Float64Array>>,
  targets: ReadonlyArray<ReadonlyArray<Float64Array>>,
): { value_loss?: number; explained_variance?: number } {
  let [count, sum, squares, errors, squaredErrors] = [0, 0, 0, 0, 0]
  targets.forEach((row, g) => {
    row.forEach((tokens, r) => {
      tokens.forEach((target, t) => {
        const error = target - said[g]![r]![t]!
        if (!Number.isFinite(error)) return
        count++
        sum += target
        squares += target ** 2
        errors += error
        squaredErrors += error ** 2
      })
    })
  })
  if (count === 0) return {}
  const variance = squares / count - (sum / count) ** 2
  const unexplained = squaredErrors / count - (errors / count) ** 2
  return {
    value_loss: squaredErrors / (2 * count),
    ...(variance > 1e-9 * Math.max(1, squares / count) && { explained_variance: 1 - unexplained / variance }),
  }
}
