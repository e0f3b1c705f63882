// A task: a generator and a verifier, both pure and synchronous.

import type { Instance, Verdict } from '../train/index.ts'
import type { PLUGIN_API } from './plugin.ts'

export interface Task {
  name: string
  kind: 'task'
  api: typeof PLUGIN_API
  summary: string
  /** To be raised whenever any prompt, key or verdict changes. */
  version: number
  difficulty: {
    min: number
    max: number
    default: number
    /** Describes a level in words. */
    describe(level: number): string
  }
  /**
   * Pure: the same seed and level give the same instance on every machine. Throws RangeError if either is out of
   * range. `warmStart` asks the built-in tasks for questions that neither training nor evaluation uses; the
   * bundled models were fine-tuned on these with supervision. Prompts on the wire cannot refer to them.
   */
  generate(at: { seed: number; difficulty: number; warmStart?: boolean }): Instance
  /** For a task with a known, finite set of questions, such as a dataset. */
  finite?: {
    /** Number n of training questions up to this level: seeds 0 to n - 1 each name a different one. */
    training(level: number): number
    /** Number of held-out questions up to this level; seeds from HELD_OUT_SEED cycle through them. */
    heldOut(level: number): number
    /** The longest question up to this level. */
    longest(level: number): string
  }
  /** Total: returns a verdict for every string, in under 50 ms. */
  verify(instance: Instance, completion: string): Verdict
  /** For a task with turns; made by `defineEnvironment`. */
  environment?: Environment
}

export function defineTask(task: Task): Task {
  return task
}

/** Pure and total: every answer has an outcome, computed in under 1 ms. States are immutable. */
export interface Environment<State = unknown> {
  /** The initial state. The first observation is the instance's question. */
  reset(instance: Instance): State
  step(state: State, answer: string): Outcome<State>
  /** Identifies a state: equal states of one prompt have equal keys, however they were reached. */
  key(state: State): string
}

export interface Outcome<State = unknown> {
  state: State
  /** What the policy sees next. Not shown once the episode is done. */
  observation: string
  reward: number
  done: boolean
}
