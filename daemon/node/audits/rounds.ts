// Audits peers at random while the node trains, in an engine and a thread of their own: peers whose weights are
// averaged, and strangers whose weights may be. What that may cost is decided in ../../trainer/audit/budget.ts.

import type { AuditResult } from '../../../protocol/api/index.ts'
import { peerName } from '../../../protocol/text.ts'
import type { Accusation } from '../../../protocol/wire/index.ts'
import type { Finding } from '../../trainer/audit/accusations.ts'
import { createAuditSchedule } from '../../trainer/audit/schedule.ts'
import type { NodeHeads } from '../heads/heads.ts'
import type { NodeAudits } from './audits.ts'
import { OTHER_WEIGHTS } from './judge.ts'

interface AuditRoundsParts {
  audits: Pick<
    NodeAudits,
    'audit' | 'draws' | 'follow' | 'nextStranger' | 'nextAccusation' | 'check' | 'repeat'
  >
  heads: Pick<NodeHeads, 'newest' | 'takeAudited'>
  /** Whether this node audits at present. */
  isOn(): boolean
  /** Connected peers whose weights this node averages, or could. */
  peers(): readonly string[]
  /** Connected peers whose weights count only as far as audits say. */
  strangers(): readonly string[]
  /** An audit failed: the peer's weights must not count any more. */
  onFailed(peer: string, message: string): void
  random(): number
  /** ms that never go back. */
  monotonic(): number
  log(message: string): void
}

export interface AuditRounds {
  /** Begins an audit if one is due and none runs. Call it often; it returns at once. */
  next(): void
  /** Ends the audit that runs. */
  close(): Promise<void>
}

/** A peer without a receipt costs next to nothing, and is asked again later. */
const LEAST_MS = 10_000
/** Whoever is looked at too seldom cannot be followed: its receipt has sixteen steps. */
const FOLLOWING_MS = 3000

export function createAuditRounds(parts: AuditRoundsParts): AuditRounds {
  const { audits, monotonic } = parts
  const schedules = {
    peers: createAuditSchedule({ leastMs: LEAST_MS }, parts),
    strangers: createAuditSchedule({ leastMs: FOLLOWING_MS }, parts),
  }
  const ending = new AbortController()
  let running: Promise<void> | undefined

  const audit = async (peer: string): Promise<void> => {
    // A peer without a receipt is no fault, and is asked again.
    const result = await audits.audit({ peer }, ending.signal).catch(() => undefined)
    const isPassed = result?.audited.some(({ outcome }) => outcome === 'passed') ?? false
    schedules.peers.ended(peer, { isPassed }, monotonic())
    if (!result) return
    const failure = failureIn(result)
    if (failure === undefined) parts.log(`audited a step of ${peerName(peer)}: ${outcomeOf(result)}`)
    else parts.onFailed(peer, `the weights of ${peerName(peer)} failed an audit: ${failure}`)
  }

  const follow = async (peer: string): Promise<void> => {
    const { heads, onFailed, log } = parts
    const does = { newest: heads.newest, take: heads.takeAudited, onFailed, log }
    const isPassed = await audits.follow(peer, does).catch(() => false)
    schedules.strangers.ended(peer, { isPassed }, monotonic())
  }

  const check = async (accusation: Accusation): Promise<void> => {
    const { accused, author } = accusation
    const { finding, what } = await audits.check(accusation).catch(() => UNCHECKED)
    if (finding === 'proved')
      parts.onFailed(
        accused,
        `the weights of ${peerName(accused)} failed an audit: ${what}, proved by ${peerName(author)}`,
      )
    else parts.log(`${peerName(author)} accuses ${peerName(accused)} of a forged step: ${FOUND[finding]}`)
  }

  const next = (): Promise<void> | undefined => {
    const strangers = parts.strangers()
    const peers = parts.peers()
    audits.repeat()
    const accusation = audits.nextAccusation((peer) => strangers.includes(peer) || peers.includes(peer))
    if (accusation) return check(accusation)
    const isDue = schedules.strangers.next(strangers, monotonic()) !== undefined
    const stranger = isDue ? audits.nextStranger(strangers) : undefined
    if (stranger !== undefined) return follow(stranger)
    const peer = schedules.peers.next(peers, monotonic())
    if (peer === undefined) return undefined
    if (audits.draws()) return audit(peer)
    schedules.peers.ended(peer, { isPassed: false }, monotonic())
    return undefined
  }

  return {
    next() {
      if (running || ending.signal.aborted || !parts.isOn()) return
      running = next()?.finally(() => {
        running = undefined
      })
    },
    async close() {
      ending.abort()
      await running
    },
  }
}

const UNCHECKED = { finding: 'open', what: undefined } as const
const FOUND: Record<Exclude<Finding, 'proved'>, string> = {
  false: 'computed here, the step is right, so this accuser is not heard again',
  open: 'that cannot be said here',
  known: 'that step was judged before',
}

/** Undefined if nothing failed. */
export function failureIn({ audited, head }: AuditResult): string | undefined {
  const failed = audited.find(({ outcome }) => outcome === 'failed')
  if (failed) return `step ${failed.step}: ${failed.detail}`
  return head === 'failed' ? OTHER_WEIGHTS : undefined
}

function outcomeOf({ audited }: AuditResult): string {
  const [step] = audited
  if (!step) return 'it has none'
  return step.detail === undefined ? step.outcome : `${step.outcome}, ${step.detail}`
}
