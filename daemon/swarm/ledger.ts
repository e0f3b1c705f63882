// What is known of each peer: what it sent, what came of it, and its replay window. Bounded: so many peers, each of bounded
// size, the least recently heard forgotten first (connected ones and those that are held last).

import { peerName } from '../../protocol/text.ts'
import { REASON_NAMES, type Reason } from './reasons.ts'
import { SequenceWindow } from './seen.ts'
import type { Traffic } from './streams.ts'
import type { Clock } from './types.ts'

/** About 5 KiB each with a full replay window. G13 allows 32. */
export const MAX_KNOWN_PEERS = 1024

export interface PeerRecord {
  readonly id: string
  readonly name: string
  lastHeard: number | undefined
  connected: boolean
  /** When the last connection to it went down. */
  disconnectedAt: number | undefined
  /** How it was found, where that is known. */
  found: 'mdns' | 'dht' | 'exchange' | undefined
  /** Frames that it passed on to us, its own and others'. */
  framesIn: number
  /** By gossip and over streams, as sent and received by us, without encryption. */
  bytesIn: number
  bytesOut: number
  /** Groups that it wrote and that reached us for the first time. */
  published: number
  /** Of those, verified here. */
  verified: number
  /** When the first of them was. */
  verifiedSince: number | undefined
  /** Of those, trained on; one that is used twice counts twice. */
  used: number
  /** Sum and number of rewards as this node computed them. */
  rewardSum: number
  rewardCount: number
  /** Optimizer steps that it last claimed. */
  policyVersion: number | undefined
  tokenizer: string | undefined
  readonly sequences: SequenceWindow
  readonly refused: Map<Reason, number>
}

export class Ledger implements Traffic {
  private readonly peers = new Map<string, PeerRecord>()
  private readonly clock: Clock
  private readonly limit: number
  readonly refused = new Map<Reason, number>()
  bytesIn = 0
  bytesOut = 0

  constructor({ limit = MAX_KNOWN_PEERS }: { limit?: number }, { clock }: { clock: Clock }) {
    this.limit = limit
    this.clock = clock
  }

  get(id: string): PeerRecord | undefined {
    return this.peers.get(id)
  }

  all(): PeerRecord[] {
    return [...this.peers.values()]
  }

  /** The record, made if need be, and moved to the end of the queue for being forgotten. */
  touch(id: string): PeerRecord {
    const record = this.peers.get(id) ?? this.create(id)
    record.lastHeard = this.clock.now()
    this.peers.delete(id)
    this.peers.set(id, record)
    return record
  }

  received(id: string, bytes: number): void {
    this.bytesIn += bytes
    const record = this.peers.get(id)
    if (record) record.bytesIn += bytes
  }

  sent(id: string, bytes: number): void {
    this.bytesOut += bytes
    const record = this.peers.get(id)
    if (record) record.bytesOut += bytes
  }

  refuse(id: string, reason: Reason): void {
    const { refused } = this.touch(id)
    refused.set(reason, (refused.get(reason) ?? 0) + 1)
    this.refused.set(reason, (this.refused.get(reason) ?? 0) + 1)
  }

  private create(id: string): PeerRecord {
    if (this.peers.size >= this.limit) this.forgetOne()
    return blank(id)
  }

  private forgetOne(): void {
    for (const record of this.peers.values()) {
      if (record.connected) continue
      this.peers.delete(record.id)
      return
    }
    this.peers.delete(this.peers.keys().next().value!)
  }
}

function blank(id: string): PeerRecord {
  return {
    id,
    name: peerName(id),
    lastHeard: undefined,
    connected: false,
    disconnectedAt: undefined,
    found: undefined,
    framesIn: 0,
    bytesIn: 0,
    bytesOut: 0,
    published: 0,
    verified: 0,
    verifiedSince: undefined,
    used: 0,
    rewardSum: 0,
    rewardCount: 0,
    policyVersion: undefined,
    tokenizer: undefined,
    sequences: new SequenceWindow(),
    refused: new Map(),
  }
}

/** All reasons that occurred, in the list's order. */
export function refusedBy(counts: ReadonlyMap<Reason, number>): Partial<Record<Reason, number>> {
  return Object.fromEntries(
    REASON_NAMES.filter((name) => counts.has(name)).map((name) => [name, counts.get(name)]),
  )
}
