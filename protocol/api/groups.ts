// Groups as a person reads them: question, answers, rewards. The newest few are kept by the node for looking at; all
// text in them is untrusted, a peer or a model wrote it.

import type { Finish } from '../train/rollout.ts'

/** The most groups that one answer holds, and the most characters of one text. */
export const MAX_GROUPS = 64
export const MAX_SAMPLE_CHARS = 2000

export interface GroupView {
  id: string
  time: number
  origin: 'own' | 'foreign'
  author: string
  /** A memorable name for the author. */
  authorName: string
  task: string
  seed: number
  difficulty: number
  /** How it was presented: `base`, or a plugin's word. */
  arm: string
  /** Policy version that wrote it. */
  version: number
  rewards: number[]
  /** Whether it was trained on; left out while that is open. */
  used?: boolean
  question?: string
  /** The right answer. */
  key?: string
  samples?: SampleView[]
}

export interface SampleView {
  text: string
  reward: number
  tokens: number
  finish: Finish
  /** What the verifier took for the answer. */
  answer?: string | null
  advantage?: number
  /** Mean log-prob per token, by the sampler and by the trainer. */
  behaviourLogprob?: number
  trainerLogprob?: number
}

/** GET /v1/groups?limit=&origin= : newest first. */
export interface Groups {
  v: 1
  groups: GroupView[]
}

export interface GroupsQuery {
  limit?: number
  origin?: 'own' | 'foreign'
}
