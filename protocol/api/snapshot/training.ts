// How training goes, as parts of a snapshot.

export interface TrainingInfo {
  /** Optimizer steps since the lineage's start. */
  step: number
  /** Mean reward of this node's own recent groups, 0 to 1. */
  reward?: number
  /** Mean reward of the own groups written since the step before. Newest last, at most 240 points. */
  rewardSeries?: SeriesPoint[]
  /** Per task name, share of this node's own recent rollouts that were correct, 0 to 1. */
  taskAccuracy?: Record<string, number>
  loss?: number
  /** Nats per token. */
  entropy?: number
  /** Mismatch KL between sampler and trainer on the sampled tokens, nats per token. */
  mismatchKl?: number
  /** Effective sample size of the importance weights over the number of tokens, 0 to 1. */
  effectiveSampleSize?: number
  /** Share of clipped tokens, 0 to 1. */
  clippedShare?: number
  gradientNorm?: number
  learningRate?: number
  /** Policy versions between sampling and training, over the last batch. */
  staleness?: { p50: number; p95: number }
  /** Since this process started; absent without a value. */
  distributions?: {
    /** Versions that each group of a batch was old. */
    staleness?: Distribution
    /** Tokens of own completions. */
    completionTokens?: Distribution
    /** Seconds that a step trained. */
    stepSeconds?: Distribution
  }
  /** Tokens sampled and trained on since this process started. */
  tokens?: { sampled: number; trained: number }
  /** Own and foreign groups of the last batch (I and J). */
  batch?: { own: number; foreign: number; rollouts: number }
  generateTokensPerSecond?: number
  trainTokensPerSecond?: number
  /** Own groups with a signal that wait to be trained on, and how many make the next batch due. */
  next?: { waiting: number; due: number }
  /** Seconds of the last step by phase, such as generate, verify, train, wait; in order. */
  phases?: Array<{ name: string; seconds: number }>
  /** Mean length of recent own completions, tokens. */
  completionTokens?: number
  /** Share of recent own completions that reached the length limit. */
  truncatedShare?: number
  /** How often each guard has acted since the start, by its name, such as `gradient spike` or `roll-back`. */
  guards?: Record<string, number>
}

/** How many values lie above the bound before and at or below each bound; the last count is of those above all. */
export interface Distribution {
  bounds: number[]
  counts: number[]
  sum: number
}

/** [ms since the epoch, step, value] */
export type SeriesPoint = [time: number, step: number, value: number]

export interface Evaluation {
  time: number
  step: number
  version: number
  /** Sampled held-out accuracy (temperature 1, one answer per prompt), mean over tasks, 0 to 1. */
  accuracy: number
  tasks: Record<string, number>
  /** Greedy accuracy: the most likely answer, at temperature 0. */
  greedy?: { accuracy: number; tasks: Record<string, number> }
  /** Number of different prompts over all tasks. */
  prompts: number
}

/** How a policy was trained for some steps in a row. */
export interface TrainingPhase {
  /** First and last step. */
  from: number
  to: number
  tasks: { name: string; difficulty?: number; examples?: number }[]
  /** Names of environments. */
  environments?: string[]
  /** Whether it took rollouts of agents. */
  agents?: boolean
  learningRate: number
  /** Of a warm start: how many worked examples it had, and how many supervised steps. */
  workedExamples?: number
  steps?: number
  /** By kind, such as `estimator`. Of a plugin from a file only the file's name. */
  plugins: Record<string, string[]>
}

export interface RecipeInfo {
  name: string
  /** Of runs alone, in order of steps. */
  looks: RecipeLook[]
  /** Config keys that decide what is learnt and differ from the recipe's values. */
  changed: string[]
  /** Whether the recorded runs had another model, so that nothing can be compared. */
  isOtherModel?: boolean
  /** Whether they had other tasks. */
  isOtherTask?: boolean
}

export interface RecipeLook {
  step: number
  /** Sampled held-out accuracy of each run, 0 to 1. */
  sampled: number[]
  /** Held-out questions of each look. */
  questions: number
}
