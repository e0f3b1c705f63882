// Groups for display: question, answers, rewards. The node keeps the newest few. All texts are untrusted, since a peer
// or a model wrote them.

import type { Finish } from '../train/rollout.ts'

/** Limits: groups per answer, characters per text. */
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
  /** How the prompt was presented: `base`, or a plugin's name for it. */
  arm: string
  /** Policy version that wrote it. */
  version: number
  rewards: number[]
  /** Whether it was trained on; absent if not decided yet. */
  used?: boolean
  question?: string
  /** The answer key. */
  key?: string
  samples?: SampleView[]
}

export interface SampleView {
  text: string
  reward: number
  tokens: number
  finish: Finish
  /** The sampler's mean log-prob per token. */
  behaviourLogprob?: number
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
