// A node's part in audits: it keeps receipts of its own steps, and audits steps of its own and of peers. What is recorded and
// how a step is judged is decided in ../../trainer/audit.

import { type AuditedStep, type AuditRequest, type AuditResult, count } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { peerName } from '../../../protocol/text.ts'
import type { Receipt, ReceiptStep } from '../../../protocol/wire/index.ts'
import { type AuditParts, auditStep, type Verdict } from '../../trainer/audit/audit.ts'
import { isHeadOf } from '../../trainer/audit/head.ts'
import { vectorIn } from '../../trainer/audit/state.ts'
import { toVector } from '../../trainer/heads/vector.ts'
import { type AuditsOptions, type AuditsParts, MAX_VALUES } from './contract.ts'
import { type FollowParts, follow } from './follow.ts'
import { createOwnReceipts, type OwnReceipts } from './own-receipts.ts'

export interface NodeAudits extends Pick<OwnReceipts, 'recorder' | 'receipt' | 'joined' | 'made'> {
  /** Audits steps of a peer's receipt, or of this node's own: one at random, or all. Rejects if there is no receipt. */
  audit(request: AuditRequest, signal?: AbortSignal): Promise<AuditResult>
  /** The stranger to follow now, of these. */
  nextStranger(strangers: readonly string[]): string | undefined
  /** Audits a step of a stranger, and hands on its weights if they may count. Whether a step was computed again. */
  follow(peer: string, parts: Pick<FollowParts, 'newest' | 'take' | 'onFailed' | 'log'>): Promise<boolean>
}

type Bytes = AuditParts['bytes']

export function createNodeAudits(options: AuditsOptions, parts: AuditsParts): NodeAudits {
  const { self, lineage, layout } = options
  const { swarm, phases } = parts
  const own = createOwnReceipts(options, parts)

  const receiptOf = async (peer: string | undefined): Promise<{ receipt: Receipt; bytes: Bytes }> => {
    if (peer === undefined || peer === self) {
      const offered = own.offer()
      if (offered) return { receipt: { ...offered, author: self, createdAt: parts.now() }, bytes: own.bytes }
      throw new WaggleError('E_CONTROL', 'this node has no receipt', {
        hint:
          layout.size > MAX_VALUES
            ? `It trains ${count(layout.size)} values, and receipts are made for at most ${count(MAX_VALUES)}.`
            : 'While swarm.audits is true, it makes one with each step.',
      })
    }
    const receipts = swarm()?.receipts
    const found = await receipts?.ask(peer, lineage)
    if (receipts && found)
      return {
        receipt: found.receipt,
        bytes: (hash, size) => receipts.fetch(peer, { hash, size }),
      }
    throw new WaggleError('E_PEER', `${peerName(peer)} has no receipt for this model`, {
      hint: 'It must be connected, train the same model, and have swarm.audits = true.',
    })
  }

  return {
    ...{ recorder: own.recorder, receipt: own.receipt, joined: own.joined },

    async made(head) {
      if (options.follows()) parts.ownHeads.add(head.bytes)
      await own.made(head)
    },

    nextStranger: (strangers) => parts.ladder.next(strangers, parts.monotonic()),

    follow: (peer, heads) =>
      follow(
        peer,
        { lineage, values: layout.size },
        {
          ...{ ...parts, ...heads },
          audit: (step, receipt, bytes) =>
            auditOne({ receipt, step, bytes }, options, { ...parts, uniform: parts.random }),
        },
      ),

    audit: ({ peer, all = false }, signal) =>
      phases.run('audit', { unit: 'steps' }, async (at) => {
        const { receipt, bytes } = await receiptOf(peer)
        const { steps } = receipt
        const drawn = all ? steps : steps.slice(Math.floor(parts.random() * steps.length)).slice(0, 1)
        const audited: AuditedStep[] = []
        for (const [i, step] of drawn.entries()) {
          at(i, drawn.length)
          signal?.throwIfAborted()
          audited.push(describe(step, receipt, await auditOne({ receipt, step, bytes }, options, parts)))
        }
        const head = await auditHead({ receipt, bytes }, options, parts)
        const hasFailed = head === 'failed' || audited.some(({ outcome }) => outcome === 'failed')
        if (receipt.author !== self && hasFailed) swarm()?.receipts.blame(receipt.author)
        return {
          ...{ peer: receipt.author, name: peerName(receipt.author), isOwn: receipt.author === self },
          ...{ steps: steps.length, audited, build: receipt.build, ownBuild: options.auditor() },
          ...(head && { head }),
        }
      }),
  }
}

/** What fails on this side is no fault of the author's. */
async function auditOne(
  { receipt, step, bytes }: { receipt: Receipt; step: ReceiptStep; bytes: Bytes },
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
  { receipt: { head }, bytes }: { receipt: Receipt; bytes: Bytes },
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

function describe(step: ReceiptStep, { steps }: Receipt, verdict: Verdict): AuditedStep {
  const before = steps[steps.indexOf(step) - 1]
  const own = step.groups.filter(({ author }) => author === undefined).length
  const detail = 'what' in verdict ? verdict.what : 'why' in verdict ? verdict.why : undefined
  return {
    ...{ step: step.version, outcome: verdict.outcome, own, foreign: step.groups.length - own },
    joined: step.joined.length,
    isReplaced:
      before !== undefined && step.joined.length === 0 && before.after.weights !== step.before.weights,
    ...('isSame' in verdict && { isSame: verdict.isSame }),
    ...('difference' in verdict && verdict.difference && { difference: verdict.difference }),
    ...(detail !== undefined && { detail }),
  }
}
