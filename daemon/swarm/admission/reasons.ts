// Why a group or message was refused. A closed list, because the names label counters; the descriptions are for users.

import type { Verdict } from '../../../protocol/wire/index.ts'

/**
 * reason -> [verdict, description]. `reject` penalises the forwarding peer, because every honest node, relays included,
 * would have refused the message. Where only some nodes can check, the author is penalised instead: see BY_AUTHOR.
 */
export const REASONS = {
  quota: ['ignore', 'over the rate limit of its peer or author'],
  size: ['reject', 'larger than the limit for messages'],
  schema: ['reject', 'not well-formed'],
  signature: ['reject', 'invalid signature'],
  forged: ['reject', 'impossible log-probs'],
  empty: ['ignore', 'a completion without tokens'],
  heldOut: ['reject', 'a held-out prompt, which is for evaluation only'],
  difficulty: ['ignore', 'a difficulty outside the task’s range'],
  version: ['ignore', 'another major version of the protocol'],
  kind: ['ignore', 'a kind of message unknown to this version'],
  task: ['ignore', 'a task, or a task version, that this node does not have'],
  arm: ['ignore', 'a prompt presentation that this node cannot reproduce'],
  own: ['ignore', 'this node’s own message, echoed back'],
  muted: ['ignore', 'the author is muted'],
  stale: ['ignore', 'too old'],
  future: ['ignore', 'dated in the future'],
  duplicate: ['ignore', 'seen before'],
  copy: ['ignore', 'mostly another author’s text'],
  busy: ['ignore', 'displaced from the queue by newer groups'],
  long: ['ignore', 'longer than this node’s limit for completions or its model’s context'],
  tokens: ['ignore', 'token ids and text do not match'],
  text: ['ignore', 'text that this node’s tokenizer cannot represent'],
  zeroSignal: ['ignore', 'all rewards are equal: no signal'],
  unneeded: [
    'ignore',
    'without a signal, by authors unknown here, and more than is needed to get to know them',
  ],
  broken: ['ignore', 'the task failed on it'],
} as const satisfies Record<string, readonly [Verdict, string]>

export type Reason = keyof typeof REASONS
export const REASON_NAMES = Object.keys(REASONS) as Reason[]

/** Only nodes with the task can check these. Others forward them in good faith, so the author is penalised. */
export const BY_AUTHOR: ReadonlySet<Reason> = new Set(['difficulty'])

export function verdictOf(reason: Reason): Verdict {
  return REASONS[reason][0]
}
