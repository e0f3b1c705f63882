// Audits peers at random while the node trains, in an engine and a thread of their own: peers whose weights are averaged, for a
// twentieth of one processor's time at most, and strangers whose weights may be, for a quarter.

import type { AuditResult } from '../../../protocol/api/index.ts'
import { peerName } from '../../../protocol/text.ts'
import { createAuditSchedule } from '../../trainer/audit/schedule.ts'
import type { NodeHeads } from '../heads/heads.ts'
import type { NodeAudits } from './audits.ts'

interface AuditRoundsParts {
  audits: Pick<NodeAudits, 'audit' | 'follow' | 'nextStranger'>
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

/** Whoever is looked at too seldom cannot be followed: its receipt has sixteen steps. */
const FOLLOWING = { share: 0.25, leastMs: 3000 }

export function createAuditRounds(parts: AuditRoundsParts): AuditRounds {
  const { audits, monotonic } = parts
  const schedules = {
    peers: createAuditSchedule({}, parts),
    strangers: createAuditSchedule(FOLLOWING, parts),
  }
  const ending = new AbortController()
  let running: Promise<void> | undefined

  const audit = async (peer: string): Promise<void> => {
    const began = monotonic()
    // A peer without a receipt is no fault, and is asked again.
    const result = await audits.audit({ peer }, ending.signal).catch(() => undefined)
    const isPassed = result?.audited.some(({ outcome }) => outcome === 'passed') ?? false
    schedules.peers.ended(peer, { isPassed, seconds: (monotonic() - began) / 1000 }, monotonic())
    if (!result) return
    const failure = failureIn(result)
    if (failure === undefined) parts.log(`audited a step of ${peerName(peer)}: ${outcomeOf(result)}`)
    else parts.onFailed(peer, `the weights of ${peerName(peer)} failed an audit: ${failure}`)
  }

  const follow = async (peer: string): Promise<void> => {
    const began = monotonic()
    const { heads, onFailed, log } = parts
    const does = { newest: heads.newest, take: heads.takeAudited, onFailed, log }
    const isPassed = await audits.follow(peer, does).catch(() => false)
    schedules.strangers.ended(peer, { isPassed, seconds: (monotonic() - began) / 1000 }, monotonic())
  }

  const next = (): Promise<void> | undefined => {
    const strangers = parts.strangers()
    const isDue = schedules.strangers.next(strangers, monotonic()) !== undefined
    const stranger = isDue ? audits.nextStranger(strangers) : undefined
    if (stranger !== undefined) return follow(stranger)
    const peer = schedules.peers.next(parts.peers(), monotonic())
    return peer === undefined ? undefined : audit(peer)
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

/** Undefined if nothing failed. */
export function failureIn({ audited, head }: AuditResult): string | undefined {
  const failed = audited.find(({ outcome }) => outcome === 'failed')
  if (failed) return `step ${failed.step}: ${failed.detail}`
  return head === 'failed' ? 'its newest weights are others than those that its receipt names' : undefined
}

function outcomeOf({ audited }: AuditResult): string {
  const [step] = audited
  if (!step) return 'it has none'
  return step.detail === undefined ? step.outcome : `${step.outcome}, ${step.detail}`
}
