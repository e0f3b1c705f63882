// Served calls that the node keeps, if its owner wants it to learn from use. Texts are untrusted: a client and a model
// wrote them.

/** Most characters of a question and of an answer in a list. */
export const MAX_FIRST_WORDS = 200

/**
 * unrated: nobody has rated it. waiting: until enough ratings that differ make a group. queued: in a group that waits for
 * training. learnt: trained on. left out: rated, and not trained on.
 */
export type ConversationState = 'unrated' | 'waiting' | 'queued' | 'learnt' | 'left out'

export interface ConversationView {
  /** As in the answer's id, without the API's prefix; 24 hex digits. */
  id: string
  time: number
  model: string
  /** Policy version that wrote it. */
  version: number
  /** The last message of the user; whole if one conversation is asked for. */
  asked: string
  answer: string
  /** Of the answer. */
  tokens: number
  state: ConversationState
  /** Why it is left out, or would be if it were rated. */
  why?: string
  /** From 0 to 1. */
  reward?: number
  comment?: string
  /** The whole prompt as the model saw it, if one conversation is asked for. */
  prompt?: string
}

export interface ConversationsRequest {
  /** Default: list. */
  action?: 'list' | 'show' | 'rate' | 'delete'
  /** An id, or the beginning of one. */
  id?: string
  /** delete: all of them. */
  all?: true
  /** rate: from 0 to 1. */
  reward?: number
  comment?: string
}

export interface ConversationsResult {
  /** Whether answers are kept now (agents.learn). */
  on: boolean
  /** Newest first; those that the request names. */
  conversations: ConversationView[]
  deleted?: number
}

/** Kept calls, in a snapshot. */
export interface KeptInfo {
  /** Calls that are kept now. */
  kept: number
  /** Answers that were rated, and that were trained on, since the node started. */
  rated: number
  learnt: number
  /** Times that a kept prompt was asked again. */
  again: number
}
