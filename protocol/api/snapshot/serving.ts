// Calls that are answered, for people and for agents, as parts of a snapshot.

import type { KeptInfo } from '../conversations.ts'

/** Calls that belong to no rollout, since the node started. */
export interface ServingInfo {
  /** Where the serving address is; absent if only the agents' gateway answers such calls. */
  listen?: string
  /** The name by which clients ask for the model. */
  model: string
  /** Most tokens of a conversation, prompt and answer together. */
  maxTokens: number
  /** Calls that are being answered, and calls that wait. */
  running: number
  waiting: number
  /** Calls that got an answer, whose client left before that, and that were refused because too many waited. */
  answered: number
  abandoned: number
  refused: number
  /** Tokens of answers. */
  tokens: number
  /** Over the last ten seconds. */
  tokensPerSecond: number
  /** From the latest call to its first token. */
  firstTokenSeconds?: number
  /** What is kept to be learnt from; absent if nothing is. */
  learning?: KeptInfo
}

/** What agents have done through the gateway since the node started. */
export interface AgentsInfo {
  /** Where the gateway listens; absent if the node only plays served environments. */
  listen?: string
  /** Most tokens of a conversation, prompt and answer together, and of the model's context. */
  maxTokens?: number
  modelContext?: number
  /** Environments served by others, with the reason if one cannot be played at present. */
  environments?: Array<{ name: string; trouble?: string }>
  /** Open rollouts. */
  open: number
  /** Groups begun but not yet complete. */
  begun: number
  /** Rollouts that got a reward. */
  rewarded: number
  /** Finished groups and their rows. A rollout whose turns do not form one token sequence has several rows. */
  groups: number
  rows: number
  /** Rollouts that have several rows. */
  split?: number
  /** Answers that nobody got, for example because the client gave up waiting. They are not trained on. */
  undelivered?: { answers: number; tokens: number }
  /** Rollouts that were dropped, by reason. Reasons are a small fixed set of words. */
  dropped: Record<string, number>
  /**
   * Requests with settings that were ignored, and answers that are not what a setting asked for, such as JSON, by the
   * setting's name.
   */
  unkept?: Record<string, number>
  /** Mean of recent rewards in training; `evalReward` is the one in evaluation. */
  reward?: number
  evalReward?: number
}
