// A rollout of an agent: the calls to the model that it made, and the reward that it got.

import type { Sample } from '../../engine/engine.ts'
import type { Delivery } from './delivery.ts'

/** One call and its answer. Recorded before the answer is sent. */
export interface Call {
  readonly id: string
  /** ms since the epoch. */
  readonly at: number
  /** When its first token was drawn, and when it ended; as `at`. */
  readonly firstAt: number
  readonly endedAt: number
  readonly prompt: Int32Array
  /** The prompt as text, if it was made from text. A later prompt may continue it. */
  readonly promptText: string | undefined
  /** The start of a tool call, with which the prompt ends. The answer's text goes on from there. */
  readonly begun?: string | undefined
  /** The tag that ends the thought with which the answer begins, if the caller is only shown what follows it. */
  readonly thoughtEnd?: string | undefined
  /** The conversation up to the answer, for dialects in which a later request continues it by its id. */
  readonly conversation: unknown
  readonly sample: Sample
  /** The text of the answer as the model wrote it, without special tokens. */
  readonly text: string
  /** The same, cut off at the caller's stop string if it contains one. */
  readonly shown: string
  /** An answer that nobody got is not trained on. */
  readonly delivery: Pick<Delivery, 'state'>
}

/** A call that may still be running. */
export interface Attempt {
  /** The id of its call. */
  readonly id: string
  readonly at: number
  /** Tokens of its prompt. */
  readonly promptLength: number
  /** Digest of the request's path and body. */
  readonly digest: string
  readonly idempotencyKey: string | undefined
  /** The request that began it declared itself a retry. */
  readonly isRetry: boolean
  /** Of its call. */
  readonly thoughtEnd?: string | undefined
  /** Tokens drawn so far. */
  readonly drawn: number[]
  /** Calls back after each token, until the returned function is called. */
  listen(onToken: () => void): () => void
  readonly done: Promise<Call>
  /** A client whose connection broke repeats the same request. */
  readonly delivery: Delivery
  /** The answer is being written. */
  readonly isRunning: boolean
  /** Ends the answer where it is, and forgets it. */
  cut(): void
}

type RolloutState = 'open' | 'finished' | 'rewarded' | 'dropped'

/** What an agent's runner reports about one answer. */
export interface TurnReward {
  /** The answer's part of the rollout's reward; 0 if unknown. */
  value: number
  /** Name of the state in which the answer was given. Estimators such as GiGPO compare answers in the same state. */
  state?: string
}

export interface Reward {
  /** Reward of the whole rollout. What the turns' rewards do not add up to goes to the last turn. */
  value: number
  parts?: Record<string, number>
  /** Rewards of single answers, by call id. */
  turns?: ReadonlyMap<string, TurnReward>
  /** The answers to train on, by call id; without it, all. */
  calls?: ReadonlySet<string>
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
  /** The outcome that the client reported. */
  outcome?: 'succeeded' | 'failed'
  reward?: Reward
  /** Why the rollout was dropped. */
  dropped?: string
  readonly calls: Call[]
  /** Those to train on, once the rollout has its reward. */
  counted?: readonly Call[]
  /** Number of answers that nobody got. */
  undelivered: number
  readonly attempts: Attempt[]
  /** Number of calls that are running. */
  running: number
  /** When it was opened, its last call ended, or it got its reward, whichever is latest. */
  activeAt: number
  /** Number of tokens held in `calls`. */
  tokens: number
}
