// What a teacher says about an answer, and how a plugin asks teachers. A teacher is a distribution over the next token
// other than the policy's: other weights of this model, this model with more in its prompt, another model, or a server.

import type { PromptCoordinates } from '../train/index.ts'
import type { Rewrite } from './rewrite.ts'

/**
 * A distribution over K + 1 categories at each of T tokens: the K likeliest tokens there, and all others together.
 */
export interface TopTokens {
  /** K: tokens at each place. */
  count: number
  /** Token ids, [T, K] row by row. No id twice in a row. */
  tokens: Int32Array
  /** Their log-probs in nats, [T, K]. */
  logprobs: Float32Array
}

/**
 * What a teacher with other tokens says about an answer. The bytes of the answer make chunks: one ends wherever a token of
 * the answer and a token of the teacher end at the same byte.
 */
export interface ChunkLogprobs {
  /** Tokens of the answer up to the end of each chunk, [C], rising; what follows the last chunk was not scored. */
  ends: Int32Array
  /** The teacher's log-prob of each chunk after all before it, in nats, [C]. */
  logprobs: Float32Array
}

/** What a teacher says about each answer; undefined for an answer that it does not teach. Indexed by group, rollout. */
export type Teaching = (TopTokens | undefined)[][]

/** A teacher that this node can ask now. */
export interface TeacherInfo {
  /** `begin`: the weights that training began with. `peer/<id>`: the newest weights of a peer. */
  name: string
  /** Changes when the teacher does. */
  version: number
  /** What a peer says of its own accuracy. Nobody has checked it. */
  claims: readonly { task: string; difficulty: number; accuracy: number }[]
}

/** What a teacher does for this node in one task. */
export interface TaughtInfo {
  task: string
  /** Such as `peer/<id>`, `checkpoint/<name>`, a model or a server's address; see TeacherInfo. */
  teacher: string
  /** 0 to 1: how much the node listens to it now. */
  weight: number
  /** Verified score of the teacher's answers to this node's prompts, and of its own; absent while it is not ahead. */
  scores?: { theirs: number; own: number }
  /** Tokens of own answers that it has scored for training, since this process started. */
  tokens: number
}

/** A question for a teacher to answer itself, so that its answer can be verified. */
export interface TeacherQuestion {
  prompt: PromptCoordinates
  /** Around the question, for this model as its own teacher. */
  rewrite?: Pick<Rewrite, 'before' | 'after'>
}
