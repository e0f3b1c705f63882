// Counts what each peer sent and what became of it. Bounded: the least recently heard peers are evicted first,
// while connected peers and those whose groups were trained on are evicted last.

import { peerName } from '../../../protocol/text.ts'
import { REASON_NAMES, type Reason } from '../admission/reasons.ts'
import type { Traffic } from '../libp2p/streams.ts'
import type { Clock } from '../types.ts'

/** About 1 KiB each. */
export const MAX_KNOWN_PEERS = 1024

const EARNED = { uses: 4, ms: 120_000 }

export interface PeerRecord {
  readonly id: string
  readonly name: string
  lastHeard: number | undefined
  connected: boolean
  /** When its last connection closed. */
  disconnectedAt: number | undefined
  /** How it was found, if known. */
  found: 'mdns' | 'dht' | 'exchange' | undefined
  /** Frames that it delivered, including other peers' frames. */
  framesIn: number
  /** Includes gossip and streams, before encryption. */
  bytesIn: number
  bytesOut: number
  /** Groups by this author, each counted once. */
  published: number
  /** Of those, verified here. */
  verified: number
  /** When the first of those was verified. */
  verifiedSince: number | undefined
  /** Of those, trained on; a group that is used twice counts twice. */
  used: number
  /** Sum and number of its rewards, as scored here. */
  rewardSum: number
  rewardCount: number
  /** The policy version that it last claimed. */
  policyVersion: number | undefined
  tokenizer: string | undefined
  readonly refused: Map<Reason, number>
}

export class PeerRecords implements Traffic {
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

  /** Returns the record, creating it if needed, and marks the peer as heard now. */
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

  /** True if its groups were trained on several times over some minutes, which no new identity can achieve. */
  isProven(id: string): boolean {
    const { used, verifiedSince } = this.peers.get(id) ?? {}
    return (used ?? 0) >= EARNED.uses && this.clock.now() - verifiedSince! >= EARNED.ms
  }

  private create(id: string): PeerRecord {
    if (this.peers.size >= this.limit) this.forgetOne()
    return blank(id)
  }

  private forgetOne(): void {
    const records = [...this.peers.values()]
    const away = records.filter(({ connected }) => !connected)
    const first = away.find(({ used }) => used === 0) ?? away[0] ?? records[0]!
    this.peers.delete(first.id)
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
    refused: new Map(),
  }
}

/** Counts of the reasons that occurred, in the order of REASONS. */
export function refusedBy(counts: ReadonlyMap<Reason, number>): Partial<Record<Reason, number>> {
  return Object.fromEntries(
    REASON_NAMES.filter((name) => counts.has(name)).map((name) => [name, counts.get(name)]),
  )
}
