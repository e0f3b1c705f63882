// What a node's audits are made with.

import type { Phases } from '../../../protocol/api/index.ts'
import type { Signer } from '../../../protocol/wire/index.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { Blobs } from '../../store/blobs.ts'
import type { Swarm } from '../../swarm/index.ts'
import type { AuditParts } from '../../trainer/audit/audit.ts'
import type { AuditBudget } from '../../trainer/audit/budget.ts'
import type { Ladder } from '../../trainer/audit/ladder.ts'
import type { Method } from '../../trainer/audit/method.ts'
import type { OwnHeads } from '../../trainer/audit/own-heads.ts'
import type { Layout, Vector } from '../../trainer/heads/vector.ts'
import type { Proofs } from './proofs.ts'

/** A node that trains more makes no receipts: a state of so many takes 192 MB. */
export const MAX_VALUES = 16e6

export interface AuditsOptions {
  layout: Layout
  /** This node's peer ID. */
  self: string
  lineage: string
  /** A receipt of this node as its checkpoint has it. */
  restored: Uint8Array | undefined
  /** Whether this node makes receipts. */
  isOn(): boolean
  /** Whether it follows strangers, so that their weights may be averaged. */
  follows(): boolean
  /** As they are now. */
  method(): Method
  learningRate(): number
  /** Most tokens of a batch that is computed again. */
  maxTokens(): number
  /** What computes the steps, and what computes them again. */
  build(): string
  auditor(): string
}

export interface AuditsParts extends Omit<AuditParts, 'bytes'> {
  policy: Pick<LivePolicy, 'trainer' | 'initial'>
  swarm(): Pick<Swarm, 'receipts' | 'isKnown'> | undefined
  signer: Signer
  blobs: Blobs
  /** Strangers whose weights may be averaged. */
  ladder: Ladder
  ownHeads: OwnHeads
  /** Keeps it over a kill. `names`: SHA-256 of all that are to be kept. Never rejects. */
  keepHead(head: Uint8Array, names: readonly string[]): Promise<void>
  /** What this node's warm start made; undefined if it had none. */
  warmStart(): Promise<Vector | undefined>
  /** Keeps it over a kill. Never rejects. */
  keepWarmStart(weights: Vector): Promise<void>
  proofs: Proofs
  budget: Pick<AuditBudget, 'draws' | 'info'>
  phases: Pick<Phases, 'run'>
  random(): number
  now(): number
  /** ms that never go back. */
  monotonic(): number
  log(message: string): void
}
