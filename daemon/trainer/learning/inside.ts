// What the functions of a learner share, and how it acts on what it finds.

import type { Group } from '../../../protocol/train/index.ts'
import type { PromptMix } from '../batch/prompt-mix.ts'
import type { Alarm, createGuards } from '../guards/index.ts'
import type { createRollBacks } from '../roll-back.ts'
import type { SharingRecord } from '../sharing/sharing-record.ts'
import { untrainable } from '../trainable.ts'
import type { LearnerOptions, LearnerParts } from './contract.ts'
import type { Weights } from './weights.ts'

export interface Inside {
  options: LearnerOptions
  parts: LearnerParts
  record: SharingRecord
  guards: ReturnType<typeof createGuards>
  rollBacks: ReturnType<typeof createRollBacks>
  weights: Weights
  mix: PromptMix
  state: {
    /** Whether a foreign group has arrived in this run. Until then there is nothing to compare. */
    hasMet: boolean
    /** Metrics of roles that learnt without a policy update; reported with the next one. */
    leftOver: Record<string, number>
    /** Updates since the last one with own groups. */
    withoutOwn: number
    /** Alarms raised since the last step. */
    pending: Alarm[]
  }
}

/**
 * Maximum number of consecutive updates without an own group. After these, own rollouts must confirm where the policy
 * has gone. This way a node whose own groups rarely have a signal still makes most of its steps.
 */
const MAX_WITHOUT_OWN = 4

export const stepsWithoutOwn = ({ record, state }: Inside): boolean =>
  record.meanOwn !== undefined && state.withoutOwn < MAX_WITHOUT_OWN

export const knowsPeers = ({ options, state }: Inside): boolean =>
  state.hasMet || options.restored?.evidence !== undefined

/** The groups that an engine can train on. Reports invalid groups and sets the peers that sent them aside. */
export function trainableOf(groups: readonly Group[], { options, parts, record }: Inside): Group[] {
  const blamed = new Map<string, string>()
  const kept = groups.filter((group) => {
    const fault = untrainable(group, parts.policy.spec)
    if (fault?.blamesAuthor) blamed.set(group.author, fault.reason)
    return fault === undefined
  })
  for (const [author, reason] of blamed) {
    const isPeer = author !== options.self
    if (isPeer) record.authors.setAside(author, `sent a group that cannot be trained on: ${reason}`)
    parts.onFinding({
      type: 'guard',
      guard: 'untrainable',
      message: `${isPeer ? "a peer's group" : 'an own group'} was left out because it cannot be trained on: ${reason}`,
      ...(isPeer ? { peers: [author] } : {}),
    })
  }
  return kept
}

/** Reports alarms, and rolls back if one asks for it. Returns whether a checkpoint was restored. */
export async function actOn(
  alarms: readonly Alarm[],
  version: number,
  { parts, rollBacks }: Inside,
): Promise<boolean> {
  for (const { guard, message } of alarms) parts.onFinding({ type: 'guard', guard, message })
  const urgent = alarms.find(({ rollBack }) => rollBack)
  const plan = urgent && (await rollBacks.handle(urgent, version))
  if (plan) parts.onFinding({ type: 'guard', guard: 'roll-back', message: plan.message, peers: plan.authors })
  return plan?.restored ?? false
}
