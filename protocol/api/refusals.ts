// The reasons for refusals in plain words, for people. Programs get the reasons as they are.

import { count } from './text/format.ts'

const WORDS: Readonly<Record<string, string>> = {
  quota: 'too many at once',
  size: 'too large',
  schema: 'not well-formed',
  signature: 'bad signature',
  forged: 'impossible log-probs',
  heldOut: 'held-out prompt',
  difficulty: 'other difficulty',
  version: 'other version',
  kind: 'unknown kind',
  task: 'unknown task',
  arm: 'unknown prompt form',
  own: 'own, sent back',
  stale: 'too old',
  future: 'from the future',
  busy: 'no room',
  long: 'too long',
  tokens: 'wrong token ids',
  text: 'unknown characters',
  zeroSignal: 'no signal',
  broken: 'task failed',
}

/** A reason as words, such as `no signal` for `zeroSignal`. */
export function refusalText(reason: string): string {
  return Object.hasOwn(WORDS, reason) ? WORDS[reason]! : reason
}

/** Refusals by reason, most common first, such as `too old 40, no signal 3`. Empty if there are none. */
export function refusalsText(
  refused: Readonly<Record<string, number>>,
  most = Number.POSITIVE_INFINITY,
): string {
  return Object.entries(refused)
    .filter(([, times]) => times > 0)
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([reason, times]) => `${refusalText(reason)} ${count(times)}`)
    .join(', ')
}
