// Computes steps of peers again. What is forged beyond doubt is kept as a proof, and its author accused; what others
// accuse a peer of is computed here too. What is a proof is decided in ../../trainer/audit/accusations.ts.

import type { AuditResult } from '../../../protocol/api/index.ts'
import type { Accusation, ReceiptStep } from '../../../protocol/wire/index.ts'
import { createAccusations, type Finding, findingOf, isProof } from '../../trainer/audit/accusations.ts'
import { auditStep, type Verdict } from '../../trainer/audit/audit.ts'
import { isHeadOf } from '../../trainer/audit/head.ts'
import { vectorIn } from '../../trainer/audit/state.ts'
import { toVector } from '../../trainer/heads/vector.ts'
import type { AuditsOptions, AuditsParts } from './contract.ts'
import type { FetchBytes, Told } from './proofs.ts'

export interface Judge {
  /** `uniform`: also looks at where the tokens of the batch lie. */
  step(told: Told, step: ReceiptStep, uniform?: () => number): Promise<Verdict>
  /** Whether the newest head is packed from the weights that the receipt names. */
  head(told: Told): Promise<AuditResult['head']>
  /** A peer accuses another. */
  accused(accusation: Accusation): void
  /** The accusation to check now. `concerns`: whether weights of the accused could count here. */
  next(concerns: (accused: string) => boolean): Accusation | undefined
  /** Checks it. `what`: what was found, for people. */
  check(accusation: Accusation): Promise<{ finding: Finding; what?: string }>
}

export const OTHER_WEIGHTS = 'its newest weights are others than those that its receipt names'

export function createJudge(options: AuditsOptions, parts: AuditsParts): Judge {
  const { swarm, proofs, monotonic } = parts
  const accusations = createAccusations(
    { self: options.self, lineage: options.lineage },
    { random: parts.random, isKnown: (peer) => swarm()?.isKnown(peer) ?? false },
  )

  /** Gathers what is fetched, and accuses if it is a proof. */
  const judging = async <One>(
    told: Told,
    step: ReceiptStep | undefined,
    judge: (told: Told) => Promise<One>,
    isForged: (one: One) => boolean,
  ): Promise<One> => {
    const behind = new Map<string, Uint8Array>()
    const bytes: FetchBytes = async (hash, size) => {
      const fetched = await told.bytes(hash, size)
      if (fetched && told.frame) behind.set(hash, fetched)
      return fetched
    }
    const verdict = await judge({ ...told, bytes })
    const { receipt } = told
    if (!isForged(verdict) || accusations.isJudged(receipt, step)) return verdict
    accusations.judged(receipt, step)
    await proofs.accuse(told, step && receipt.steps.indexOf(step), behind.values())
    return verdict
  }
  const judgeStep = (told: Told, step: ReceiptStep, uniform?: () => number): Promise<Verdict> =>
    judging(told, step, (one) => auditOne(one, step, options, { ...parts, uniform }), isProof)
  const judgeHead = (told: Told): Promise<AuditResult['head']> =>
    judging(
      told,
      undefined,
      (one) => auditHead(one, options, parts),
      (head) => head === 'failed',
    )

  const checked = async (accusation: Accusation): Promise<{ finding: Finding; what?: string }> => {
    const told = await fetchProof(accusation, parts)
    if (typeof told === 'string') return { finding: told }
    const step = told.receipt.steps[accusation.step ?? -1]
    if (accusation.step !== undefined && !step) return { finding: 'false' }
    if (accusations.isJudged(told.receipt, step)) return { finding: 'known' }
    if (!step) {
      const head = await judgeHead(told)
      if (head === 'failed') return { finding: 'proved', what: OTHER_WEIGHTS }
      return { finding: head === 'passed' ? 'false' : 'open' }
    }
    const verdict = await judgeStep(told, step)
    const finding = findingOf(verdict)
    if (finding !== 'open') accusations.judged(told.receipt, step)
    const what = 'what' in verdict ? verdict.what : 'why' in verdict ? verdict.why : verdict.outcome
    return { finding, what: `step ${step.version}: ${what}` }
  }

  return {
    step: judgeStep,
    head: judgeHead,
    accused: accusations.take,
    next: (concerns) => accusations.next(concerns, monotonic()),
    async check(accusation) {
      const { accused, author } = accusation
      const found = await checked(accusation)
      accusations.ended(accusation, found.finding)
      if (found.finding === 'proved') parts.ladder.broke(accused, monotonic())
      if (found.finding === 'false') swarm()?.receipts.blame(author)
      return found
    },
  }
}

/** What fails on this side is no fault of the author's. */
async function auditOne(
  { receipt, bytes }: Told,
  step: ReceiptStep,
  { layout, method, learningRate, maxTokens, auditor }: AuditsOptions,
  parts: AuditsParts,
): Promise<Verdict> {
  const options = {
    ...{ layout, method: method(), learningRate: learningRate() },
    ...{ maxTokens: maxTokens(), build: auditor() },
  }
  try {
    return await auditStep({ receipt, step }, options, { ...parts, bytes })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { outcome: 'unauditable', why: `it could not be computed here: ${why}` }
  }
}

async function auditHead(
  { receipt: { head }, bytes }: Told,
  { layout }: AuditsOptions,
  { policy }: AuditsParts,
): Promise<AuditResult['head']> {
  if (!head) return undefined
  const size = 4 * layout.size
  const fetched = [
    await bytes(head.weights, size),
    head.lost === undefined ? undefined : await bytes(head.lost, size),
  ]
  if (!fetched[0] || (head.lost !== undefined && !fetched[1])) return 'unserved'
  const [weights, lost] = fetched.map((some) => some && vectorIn(some, layout.size))
  if (!weights || (head.lost !== undefined && !lost)) return 'failed'
  return isHeadOf(head.hash, { weights, lost, origin: toVector(layout, policy.initial) })
    ? 'passed'
    : 'failed'
}

/** Receipts of before prove nothing about an author that was set aside since. */
const MAX_AGE_MS = 24 * 3_600_000

/** The receipt that an accusation names, from the accuser. `false`: it is not one of the accused's. */
async function fetchProof(
  { author, accused, lineage, receipt: hash, size }: Accusation,
  { swarm, now }: Pick<AuditsParts, 'swarm' | 'now'>,
): Promise<Told | 'false' | 'open'> {
  const receipts = swarm()?.receipts
  const found = await receipts?.named(author, { hash, size })
  if (!receipts || !found) return 'open'
  const { receipt } = found
  if (receipt.author !== accused || receipt.lineage !== lineage) return 'false'
  if (now() - receipt.createdAt > MAX_AGE_MS) return 'open'
  return { ...found, bytes: (of, bytes) => receipts.fetch(author, { hash: of, size: bytes }) }
}
