// A rollout of an agent: the calls that it made of the model, and the reward that it got.

import type { Sample } from '../../engine/engine.ts'

/** One answer of the model. Recorded before it is sent. */
export interface Call {
  readonly id: string
  /** ms since the epoch. */
  readonly at: number
  readonly prompt: Int32Array
  /** The prompt as text, where it was made of text: a later prompt may continue it. */
  readonly promptText: string | undefined
  /** The conversation up to the answer, for a dialect that continues it by its id. */
  readonly conversation: unknown
  readonly sample: Sample
  /** The answer as the model wrote it, without special tokens. */
  readonly text: string
  /** The answer up to the caller's stop string, if it has one. */
  readonly shown: string
}

/** A call that may still be running. */
export interface Attempt {
  /** Its call's. */
  readonly id: string
  readonly at: number
  /** Digest of path and body. */
  readonly digest: string
  readonly idempotencyKey: string | undefined
  /** Begun by a request that says that it is a retry. */
  readonly isRetry: boolean
  /** Tokens drawn so far. */
  readonly drawn: number[]
  /** Calls back after each token, until the returned function is called. */
  listen(onToken: () => void): () => void
  readonly done: Promise<Call>
  /** How far its answer got: a client whose connection broke asks again with the same request. */
  delivery: 'pending' | 'delivered' | 'lost'
}

export type RolloutState = 'open' | 'finished' | 'rewarded' | 'dropped'

/** What an agent's runner says of one answer. */
export interface TurnReward {
  /** Part of the rollout's reward; 0 if unknown. */
  value: number
  /** Name of the state in which the answer was given: estimators such as GiGPO compare answers in the same state. */
  state?: string
}

export interface Reward {
  /** Of the whole rollout. What the turns do not add up to counts for the last turn. */
  value: number
  parts?: Record<string, number>
  /** By the ids of calls. */
  turns?: ReadonlyMap<string, TurnReward>
  message?: string
}

export interface AgentRollout {
  readonly id: string
  readonly key: string
  readonly task: string
  readonly group: string
  readonly mode: 'train' | 'eval'
  readonly metadata: unknown
  readonly openedAt: number
  readonly expiresAt: number
  state: RolloutState
  /** What its client says of its end. */
  outcome?: 'succeeded' | 'failed'
  reward?: Reward
  /** Why it was dropped. */
  dropped?: string
  readonly calls: Call[]
  readonly attempts: Attempt[]
  /** Calls that are running. */
  running: number
  /** When it was opened, or its last call ended, or it got its reward. */
  activeAt: number
  /** Tokens held in `calls`. */
  tokens: number
}
