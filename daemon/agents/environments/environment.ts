// An environment that somebody else serves: it plays episodes with the policy and says what each answer earned. What it
// says cannot be made again by a peer, so its groups are never shared.

import { WaggleError } from '../../../protocol/errors.ts'
import type { ChatMessage, ChatTool } from '../../policy/chat/template.ts'
import type { Answer } from '../dialects/tools.ts'

/** Of an answer and of an episode, by magnitude. */
export const LARGEST_REWARD = 1000

/** Characters that the policy sees of one reply. */
export const MOST_SHOWN = 8192

/** How an episode begins. */
export interface Opening {
  messages: readonly ChatMessage[]
  tools: readonly ChatTool[]
}

/** What an environment shows after an answer. */
export interface Shown {
  messages: readonly ChatMessage[]
  /** For the answer. */
  reward: number
  done: boolean
}

/** One episode at a time. After an error it is of no further use. */
export interface Session {
  reset(seed: number): Promise<Opening>
  step(answer: Answer): Promise<Shown>
  /** Ends an episode that is not done. What its answers earn beyond their steps. */
  end(): Promise<number>
  close(): void
}

export interface ServedEnvironment {
  name: string
  /** Said before the first message of a user. */
  prompt?: string | undefined
  /** Answers of an episode at most. */
  turns: number
  /** Episodes side by side at most. */
  sessions: number
  open(): Promise<Session>
}

/** An environment that cannot be reached, is full, or breaks its protocol. */
export class EnvironmentError extends WaggleError {
  /** It takes no further session at present. */
  readonly isFull: boolean

  constructor(message: string, { isFull = false, cause }: { isFull?: boolean; cause?: unknown } = {}) {
    super('E_TASK', message, {
      hint: 'Check that its server runs and that `url` in [[environments]] is right.',
      ...(cause === undefined ? {} : { cause }),
    })
    this.isFull = isFull
  }
}
