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
    /** What a level means, in words. */
    describe(level: number): string
  }
  /** Pure: the same instance for the same seed and level on every machine. Throws RangeError outside the range. */
  generate(at: { seed: number; difficulty: number }): Instance
  /** For a task that has finitely many questions and knows them, such as a dataset. */
  finite?: {
    /** Different held-out questions up to this level; seeds from HELD_OUT_SEED on have each of them once, then again. */
    heldOut(level: number): number
    /** The longest question up to this level. */
    longest(level: number): string
  }
  /** Total: a verdict for any string whatever, in under 50 ms. */
  verify(instance: Instance, completion: string): Verdict
  /** Of a task with turns, made by `defineEnvironment`. */
  environment?: Environment
}

export function defineTask(task: Task): Task {
  return task
}
