// Why a group, or a message, was refused: a closed list, since it labels counters. What is said of each is for people.

import type { Verdict } from '../../protocol/wire/index.ts'

/** reason -> [verdict, meaning]. `reject` charges the peer that passed it on; every honest node would refuse it too. */
export const REASONS = {
  quota: ['ignore', 'more than a peer or an author may send in a while'],
  size: ['reject', 'larger than a message may be'],
  schema: ['reject', 'not well-formed'],
  signature: ['reject', 'the signature does not fit'],
  forged: ['reject', 'impossible log-probs'],
  heldOut: ['reject', 'a prompt that is kept for evaluation'],
  difficulty: ['reject', 'a difficulty outside the task’s range'],
  version: ['ignore', 'another major version of the protocol'],
  kind: ['ignore', 'a kind of message that this version does not know'],
  task: ['ignore', 'a task, or a version of one, that this node does not have'],
  arm: ['ignore', 'a prompt presented in a way that this node cannot repeat'],
  own: ['ignore', 'this node’s own message come back'],
  muted: ['ignore', 'the author is muted'],
  stale: ['ignore', 'too old'],
  future: ['ignore', 'dated in the future'],
  duplicate: ['ignore', 'seen before'],
  copy: ['ignore', 'mostly another author’s text'],
  busy: ['ignore', 'newer groups took its place in the queue'],
  long: ['ignore', 'longer than this node lets completions be, or than its model can read'],
  tokens: ['ignore', 'token ids and text do not match'],
  text: ['ignore', 'text that this node’s tokenizer cannot represent'],
  zeroSignal: ['ignore', 'all rewards are the same: nothing to learn'],
  broken: ['ignore', 'the task failed on it'],
} as const satisfies Record<string, readonly [Verdict, string]>

export type Reason = keyof typeof REASONS
export const REASON_NAMES = Object.keys(REASONS) as Reason[]

export function verdictOf(reason: Reason): Verdict {
  return REASONS[reason][0]
}
