// A factor that follows a measured divergence: the proportional controller of Ziegler et al. 2019 (Fine-Tuning Language
// Models from Human Preferences).
//
// After an update e = (divergence - target) / target, clipped to +-0.2, and the factor becomes (1 + K e) times itself. K is
// n / horizon as in the paper's code, with n the rollouts of the batch and a horizon of 10 000, and at most 1 here, so that
// one batch cannot end it. The divergence is per token, as in verl, where the paper has the whole answer's; tokens
// of peers and replayed ones count as others do.

import { z } from 'zod'
import type { Hooks } from '../../protocol/plugin/index.ts'

export interface KlControlOptions {
  /** What it begins with, above 0. */
  coefficient: number
  /** Nats per token, above 0. */
  target: number
  /** Rollouts. */
  horizon: number
  /** Name of the divergence among an update's metrics. */
  measured: string
}

const savedSchema = z.number().nonnegative()
const MOST = 0.2

/** Hooks that keep the column `coefficient`. */
export function createKlControl({ coefficient, target, horizon, measured }: KlControlOptions): Hooks {
  let current = coefficient
  return {
    columns(_advantages, _groups, context) {
      context.metric('coefficient', current)
      return { coefficient: current }
    },
    commit({ metrics, groups }) {
      const divergence = metrics[measured]
      if (divergence === undefined || !Number.isFinite(divergence)) return undefined
      const error = Math.max(-MOST, Math.min(MOST, divergence / target - 1))
      const rollouts = groups.reduce((sum, group) => sum + group.rollouts.length, 0)
      current *= 1 + error * Math.min(1, rollouts / horizon)
      return undefined
    },
    save: () => new TextEncoder().encode(JSON.stringify(current)),
    load(state) {
      current = savedSchema.parse(JSON.parse(new TextDecoder().decode(state)))
    },
  }
}
