// One evaluation of a run with a pretrained model, by whatever trains it.

import type { Estimate } from '../../../protocol/api/index.ts'

export interface Look {
  step: number
  /** Sampled for training so far. */
  tokens: number
  /** Spent on sampling and training, without evaluations. */
  seconds: number
  /** Processor time of the same, of all threads. Absent in the first runs. */
  cpu?: number
  sampled: Estimate
  greedy: Estimate
  questions: number
  /** Mean reward of training rollouts in each step since the last look. */
  rewards: number[]
  /** Peak of the process, in bytes. */
  rss: number
  /** The machine's one-minute load: a busy machine makes `seconds` long. */
  load: number
}
