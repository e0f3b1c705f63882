// What is wrong with a message that came in, and what a node does about it. `reject` is for what every honest node
// would refuse, so that whoever passed it on is to blame; `ignore` is for what is a matter of opinion or of version.
// Never shown to a person as it is: faults are counted by reason.

export type Verdict = 'reject' | 'ignore'

/** Why the codec refused a message. A closed list: it labels counters. */
export type WireReason = 'size' | 'schema' | 'signature' | 'forged' | 'empty' | 'version'

export class WireFault extends Error {
  override readonly name = 'WireFault'
  readonly reason: WireReason
  readonly verdict: Verdict

  constructor(reason: WireReason, message: string) {
    super(message)
    this.reason = reason
    // Nodes of earlier releases pass empty completions on in good faith.
    this.verdict = reason === 'version' || reason === 'empty' ? 'ignore' : 'reject'
  }
}

export function malformed(message: string): WireFault {
  return new WireFault('schema', message)
}
