// An adaptive KL coefficient: the proportional controller of Ziegler et al. 2019 (Fine-Tuning Language Models
// from Human Preferences).
//
// After an update, e = (divergence - target) / target, clipped to +-0.2, and the coefficient is multiplied by
// 1 + K e. K is n / horizon as in the paper's code, where n is the number of rollouts in the batch and the
// horizon is 10 000. Here K is at most 1, so that one batch cannot reduce the coefficient to 0. The
// divergence is per token, as in verl; the paper uses that of the whole answer. Peers' tokens and replayed
// ones count like all others.

import { z } from 'zod'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { readState, writeState } from '../../state.ts'

interface KlControlOptions {
  /** Initial coefficient, above 0. */
  coefficient: number
  /** Nats per token, above 0. */
  target: number
  /** Rollouts. */
  horizon: number
  /** Name of the divergence in the update's metrics. */
  measured: string
}

const savedSchema = z.number().nonnegative()
const MAX = 0.2

/** Hooks that maintain the column `coefficient`. */
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
      const error = Math.max(-MAX, Math.min(MAX, divergence / target - 1))
      const rollouts = groups.reduce((sum, group) => sum + group.rollouts.length, 0)
      current *= 1 + error * Math.min(1, rollouts / horizon)
      return undefined
    },
    save: () => writeState(current),
    load(state) {
      current = readState(savedSchema, state)
    },
  }
}
