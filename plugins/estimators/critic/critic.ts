// What estimators with a critic share: values of a batch before its rewards are looked at, and the head's next fit after
// its advantages were taken, so that no reward has a say in its own baseline.
//
// The fit waits for `commit`: what `advantage` says then hangs on the state alone, and a batch that is lost teaches nothing.

import { z } from 'zod'
import type { Context } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { fitted, type Head, type Samples } from './head.ts'
import { type Chosen, type Look, look } from './look.ts'
import { headBytes, headOf } from './state.ts'

/**
 * Settings of an estimator's `head`. A batch has many tokens and few rewards, so that a head that hurries learns the batch by
 * heart: of what was tried on batches of 32 answers of a small model, steps like these said most of the next one.
 */
export const headSettings = z
  .strictObject({
    /** AdamW's learning rate, for states of length about 1. */
    rate: z.number().positive().default(0.003),
    epochs: z.int().min(1).max(64).default(4),
    /** Tokens of one of its steps. */
    batch: z.int().min(1).max(65_536).default(1024),
    /** AdamW's weight decay. */
    decay: z.number().nonnegative().max(1).default(0.01),
    /** How far V may be led from what it said of a token, in rewards; null for as far as it goes. */
    clip: z.number().positive().nullable().default(null),
    /** Most tokens of a batch that it is fitted on: as many hidden states are held until the update is done. */
    tokens: z.int().min(1).max(1_048_576).default(8192),
  })
  .prefault({})
export type HeadSettings = z.output<typeof headSettings>

export interface Critic {
  /** What it says of a batch, of which it has learnt nothing yet. */
  look(groups: readonly Group[], chosen: Omit<Chosen, 'tokens'>, context: Context): Promise<Look>
  /** What it ought to have said, by group, rollout and token: NaN where nobody knows. Held for `fit`. */
  hold(seen: Look, targets: ReadonlyArray<ReadonlyArray<Float64Array>>, context: Context): void
  /** Fits the head to what is held, once. */
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
      const { places, states } = seen.kept
      const of = (rows: ReadonlyArray<ReadonlyArray<Float64Array>>): Float64Array =>
        Float64Array.from(places, ({ group, rollout, token }) => rows[group]![rollout]![token]!)
      held = { head: seen.head, samples: { states, targets: of(targets), said: of(seen.values) } }
    },

    fit(context) {
      if (!held) return
      const next = fitted(held.head, held.samples, options, context.random(`critic/fit/${context.step}`))
      held = undefined
      if (next) head = next
      else context.log('the value head would not be finite after this batch: it stays as it was')
    },

    save: () => headBytes(head),
    load(bytes) {
      head = headOf(bytes)
      held = undefined
    },
  }
}

/**
 * Half the mean squared error of what was said before the fit, and the share of the targets' variance that it explains: 1
 * at best, 0 for a constant, below for worse. Nothing where there is nothing to explain.
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
