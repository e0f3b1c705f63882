// An environment that somebody else serves: it plays episodes with the policy and says what each answer earned. What it
// says cannot be made again by a peer, so its groups are never shared.

import { WaggleError } from '../../../protocol/errors.ts'

/** Of an answer and of an episode, by magnitude. */
export const LARGEST_REWARD = 1000

/** What an environment shows after a reset or an answer. */
export interface Shown {
  text: string
  /** For the answer; 0 after a reset. */
  reward: number
  done: boolean
}

/** One episode at a time. After an error it is of no further use. */
export interface Session {
  reset(seed: number): Promise<Shown>
  step(answer: string): Promise<Shown>
  close(): void
}

export interface ServedEnvironment {
  name: string
  /** Said before what the environment shows first. */
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
