// An environment that somebody else serves: it plays episodes with the policy and says what each answer earned. Peers
// cannot reproduce what it says, so its groups are never shared.

import { WaggleError } from '../../../protocol/errors.ts'
import type { ChatMessage, ChatTool } from '../../policy/chat/template.ts'
import type { Answer } from '../dialects/tools.ts'

/** Largest magnitude of the reward of an answer or of an episode. */
export const LARGEST_REWARD = 1000

/** Most characters of a reply that the policy sees. */
export const MAX_SHOWN = 8192

/** What an environment shows at the start of an episode. */
export interface Opening {
  messages: readonly ChatMessage[]
  tools: readonly ChatTool[]
}

/** What an environment shows after an answer. */
export interface Shown {
  messages: readonly ChatMessage[]
  /** Reward for the answer. */
  reward: number
  done: boolean
}

/** Plays one episode at a time. After an error it must not be used again. */
export interface Session {
  reset(seed: number): Promise<Opening>
  step(answer: Answer): Promise<Shown>
  /** Ends an episode that is not done. Returns what its answers earned in addition to the rewards of the steps. */
  end(): Promise<number>
  close(): void
}

export interface ServedEnvironment {
  name: string
  /** Put before the first user message. */
  prompt?: string | undefined
  /** Most answers per episode. */
  turns: number
  /** Most episodes side by side. */
  sessions: number
  open(): Promise<Session>
}

/** An environment that cannot be reached, is full, or breaks its protocol. */
export class EnvironmentError extends WaggleError {
  /** It accepts no further session at present. */
  readonly isFull: boolean

  constructor(message: string, { isFull = false, cause }: { isFull?: boolean; cause?: unknown } = {}) {
    super('E_TASK', message, {
      hint: 'Check that its server runs and that `url` in [[environments]] is right.',
      ...(cause === undefined ? {} : { cause }),
    })
    this.isFull = isFull
  }
}
