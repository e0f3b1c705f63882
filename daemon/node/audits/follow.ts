// Follows the steps of strangers, so that their weights may be averaged. What counts as followed, and for how much, is
// decided in ../../trainer/audit/ladder.ts.

import { peerName } from '../../../protocol/text.ts'
import type { Receipt } from '../../../protocol/wire/index.ts'
import type { Swarm } from '../../swarm/index.ts'
import type { Verdict } from '../../trainer/audit/audit.ts'
import { type ChainStep, checkBeginning, checkLink } from '../../trainer/audit/chain.ts'
import type { Ladder } from '../../trainer/audit/ladder.ts'
import type { OwnHeads } from '../../trainer/audit/own-heads.ts'
import { vectorIn } from '../../trainer/audit/state.ts'
import type { AuditedWeights } from '../../trainer/heads/join.ts'
import type { Vector } from '../../trainer/heads/vector.ts'
import type { FetchBytes, Told } from './proofs.ts'

export interface FollowParts {
  ladder: Ladder
  ownHeads: Pick<OwnHeads, 'get'>
  /** What this node's own warm start made; undefined if it had none. */
  warmStart(): Promise<Vector | undefined>
  /** The first values of the lineage. */
  origin(): Vector
  swarm(): Pick<Swarm, 'receipts'> | undefined
  /** Whether the budget is for an audit now. */
  draws(): boolean
  /** Computes the step again. */
  audit(told: Told, step: ChainStep['step']): Promise<Verdict>
  /** This node's weights now, with which what comes is compared. */
  newest(): Vector | undefined
  take(weights: AuditedWeights): void
  /** The peer forged a step. */
  onFailed(peer: string, message: string): void
  monotonic(): number
  log(message: string): void
}

/** One look at the stranger: whether a step was computed again. `values`: of the model. */
export async function follow(
  peer: string,
  { lineage, values }: { lineage: string; values: number },
  parts: FollowParts,
): Promise<boolean> {
  const { ladder, monotonic } = parts
  const receipts = parts.swarm()?.receipts
  const beside = parts.newest()
  const told = await receipts?.ask(peer, lineage)
  if (!receipts || !told) return false
  const { receipt } = told
  const broke = (why: string): void => {
    ladder.broke(peer, monotonic())
    parts.log(`the weights of ${peerName(peer)} are not averaged: ${why}`)
  }
  const bytes: FetchBytes = (hash, size) => receipts.fetch(peer, { hash, size })
  const weights = async (hash: string): Promise<Vector | undefined> => {
    const fetched = await bytes(hash, 4 * values)
    return fetched && vectorIn(fetched, values)
  }
  const beginning = ladder.beginning(receipt)
  if (beginning) {
    const [own, origin] = [await parts.warmStart(), parts.origin()]
    const problem = await checkBeginning(beginning, { weights, own, origin })
    if (problem !== undefined) {
      broke(problem)
      return false
    }
    ladder.begun(peer, beginning)
  }
  const drawing = ladder.look(receipt, parts.draws, monotonic())
  if (drawing === 'waits' || drawing === 'seen') return false
  if ('broken' in drawing) {
    broke(drawing.broken)
    return false
  }
  const { step } = drawing.drawn
  const link = await checkLink(drawing.drawn, {
    weights,
    head: parts.ownHeads.get,
    isKnown: (hash) => ladder.isKnown(hash, receipt),
  })
  if (link !== undefined) {
    broke(`before step ${step.version}, ${link}`)
    return false
  }
  const verdict = await parts.audit({ ...told, bytes }, step)
  if (verdict.outcome !== 'passed') {
    const why = `step ${step.version}: ${'what' in verdict ? verdict.what : verdict.why}`
    broke(`${verdict.outcome}, ${why}`)
    if (verdict.outcome === 'failed')
      parts.onFailed(peer, `the weights of ${peerName(peer)} failed an audit: ${why}`)
    return verdict.outcome === 'failed'
  }
  // Every audit of a stranger looks at the tokens.
  ladder.passed(receipt, verdict.evidence!)
  parts.log(`audited a step of the stranger ${peerName(peer)}: passed${standing(peer, ladder)}`)
  await takeNewest(receipt, { beside, weights }, parts)
  return true
}

function standing(peer: string, ladder: Ladder): string {
  const { passed, likeness, weight } = ladder.list().find(({ author }) => author === peer)!
  const written = likeness === 'matched' ? '' : `, whether its policy wrote its answers is ${likeness}`
  return `, ${passed} in a row${written}; its weights count ${Math.round(100 * weight)} %`
}

async function takeNewest(
  { author, steps }: Receipt,
  { beside, weights }: { beside: Vector | undefined; weights(hash: string): Promise<Vector | undefined> },
  { ladder, take }: FollowParts,
): Promise<void> {
  const { after, version } = steps.at(-1)!
  if (!beside || ladder.weight(author) === 0) return
  const fetched = await weights(after.weights)
  const weight = ladder.weight(author)
  if (fetched) take({ author, version: version + 1, hash: after.weights, weights: fetched, beside, weight })
}
