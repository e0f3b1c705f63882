// What is wrong with an incoming message, and how the node reacts. `reject` is for messages that every honest node
// would refuse, so the peer that passed it on is to blame. `ignore` is for messages on which honest nodes may
// differ, such as those of another version. Faults are not shown to users individually, only counted by reason.

export type Verdict = 'reject' | 'ignore'

/** Why the codec refused a message. A closed set, because it labels counters. */
export type WireReason = 'size' | 'schema' | 'signature' | 'forged' | 'empty' | 'version'

export class WireFault extends Error {
  override readonly name = 'WireFault'
  readonly reason: WireReason
  readonly verdict: Verdict

  constructor(reason: WireReason, message: string) {
    super(message)
    this.reason = reason
    // Nodes of earlier releases pass on empty completions in good faith.
    this.verdict = reason === 'version' || reason === 'empty' ? 'ignore' : 'reject'
  }
}

export function malformed(message: string): WireFault {
  return new WireFault('schema', message)
}
