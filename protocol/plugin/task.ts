// A task: its generator and verifier, pure and synchronous.

import type { Instance, Verdict } from '../train/index.ts'
import type { Environment } from './environment.ts'
import type { PLUGIN_API } from './plugin.ts'

export interface Task {
  name: string
  kind: 'task'
  api: typeof PLUGIN_API
  summary: string
  /** Raised whenever any prompt, key or verdict changes. */
  version: number
  difficulty: {
    min: number
    max: number
    default: number
    /** Describes a level in words. */
    describe(level: number): string
  }
  /**
   * Pure: the same instance for the same seed and level on every machine. Throws RangeError outside the
   * ranges. `warmStart` asks the built-in tasks for questions that neither training nor evaluation uses; the
   * bundled models are trained on these by supervision. No prompt on the wire can ask for one.
   */
  generate(at: { seed: number; difficulty: number; warmStart?: boolean }): Instance
  /** For a task with a known, finite set of questions, such as a dataset. */
  finite?: {
    /** Number of training questions up to this level; seeds below it name each once. */
    training(level: number): number
    /** Number of held-out questions up to this level; seeds from HELD_OUT_SEED cycle through them. */
    heldOut(level: number): number
    /** The longest question up to this level. */
    longest(level: number): string
  }
  /** Total: a verdict for every string, in under 50 ms. */
  verify(instance: Instance, completion: string): Verdict
  /** For a task with turns; made by `defineEnvironment`. */
  environment?: Environment
}

export function defineTask(task: Task): Task {
  return task
}
