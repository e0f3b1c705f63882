// The guards of a run. They check every step, reward and evaluation, limit the gradient norm, and raise
// alarms. They only decide; the learner acts.

import { createCanary } from './canary.ts'
import { createEntropyWatch } from './entropy.ts'
import { createNormGuard } from './gradient-norm.ts'

/** A guard's finding. `rollBack`: training must return to an earlier checkpoint. */
export interface Alarm {
  guard: 'gradient spike' | 'not finite' | 'entropy' | 'canary' | 'weights'
  message: string
  rollBack: boolean
  /** The newest version that is known to be good, if the guard knows it. */
  goodAt?: number
}

export interface Guards {
  /** Gradient norm limit for the next step. */
  normLimit(): number
  /** Takes the figures of a step. `entropy` is absent if the step had no own rollouts. */
  step(seen: { gradientNorm: number; entropy?: number | undefined; skipped: readonly string[] }): Alarm[]
  /** Takes the mean reward of a new own group. `task`: with its difficulty. */
  ownGroup(task: string, reward: number, version: number): Alarm[]
  evaluation(accuracy: number, prompts: number, version: number): Alarm[]
  /** Clears all statistics after a roll-back, because they describe discarded weights. */
  reset(): void
}

/** SKIPPED skipped steps among the last AMONG trigger a roll-back. */
const SKIPPED = 3
const AMONG = 20

export function createGuards(): Guards {
  let norms = createNormGuard()
  let entropies = createEntropyWatch()
  let canary = createCanary()
  let lately: boolean[] = []

  return {
    normLimit: () => norms.limit(),

    step({ gradientNorm, entropy, skipped }) {
      const alarms: Alarm[] = []
      lately = [...lately, skipped.length > 0].slice(-AMONG)
      if (skipped.length > 0) {
        const often = lately.filter(Boolean).length
        alarms.push({
          guard: 'not finite',
          message: `${skipped[0]} was not finite, the step was not taken${often > 1 ? ` (${often} of the last ${lately.length})` : ''}`,
          rollBack: often >= SKIPPED,
        })
        return alarms
      }
      const limit = norms.limit()
      if (norms.observe(gradientNorm)) {
        alarms.push({
          guard: 'gradient spike',
          message: `a gradient of norm ${gradientNorm.toPrecision(3)} was cut to ${limit.toPrecision(3)}`,
          rollBack: false,
        })
      }
      const odd = entropy === undefined ? undefined : entropies.observe(entropy)
      if (odd !== undefined) alarms.push({ guard: 'entropy', message: odd, rollBack: true })
      return alarms
    },

    ownGroup(...group) {
      const fallen = canary.ownGroup(...group)
      return fallen ? [{ guard: 'canary', rollBack: true, ...fallen }] : []
    },

    evaluation(...seen) {
      const fallen = canary.evaluation(...seen)
      return fallen ? [{ guard: 'canary', rollBack: true, ...fallen }] : []
    },

    reset() {
      norms = createNormGuard()
      entropies = createEntropyWatch()
      canary = createCanary()
      lately = []
    },
  }
}
