// A node's part in audits: it keeps receipts of its own steps, and audits steps of its own and of peers. What is
// recorded and how a step is judged is decided in ../../trainer/audit.

import { type AuditedStep, type AuditRequest, type AuditResult, count } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { peerName } from '../../../protocol/text.ts'
import type { Receipt, ReceiptStep } from '../../../protocol/wire/index.ts'
import type { Weights } from '../../engine/weights.ts'
import type { Verdict } from '../../trainer/audit/audit.ts'
import type { AuditBudget } from '../../trainer/audit/budget.ts'
import { toVector } from '../../trainer/heads/vector.ts'
import { type AuditsOptions, type AuditsParts, MAX_VALUES } from './contract.ts'
import { type FollowParts, follow } from './follow.ts'
import { createJudge, type Judge } from './judge.ts'
import { createOwnReceipts, type OwnReceipts } from './own-receipts.ts'
import type { Told } from './proofs.ts'

export interface NodeAudits extends Pick<OwnReceipts, 'recorder' | 'receipt' | 'joined' | 'made'> {
  /** Audits steps of a peer's receipt, or of this node's own: one at random, or all. Rejects if there is no receipt. */
  audit(request: AuditRequest, signal?: AbortSignal): Promise<AuditResult>
  /** The stranger to follow now, of these. */
  nextStranger(strangers: readonly string[]): string | undefined
  /** Whether the budget is for an audit now. */
  draws: AuditBudget['draws']
  /** What audits cost. */
  cost: AuditBudget['info']
  /** Looks at a stranger's steps and, if it is drawn, audits one and hands on its weights if they may count. */
  follow(peer: string, parts: Pick<FollowParts, 'newest' | 'take' | 'onFailed' | 'log'>): Promise<boolean>
  /** This node's warm start made these weights. */
  begun(weights: Weights): Promise<void>
  accused: Judge['accused']
  nextAccusation: Judge['next']
  check: Judge['check']
  /** Says again whom it accuses, if that is due. */
  repeat(): void
}

export function createNodeAudits(options: AuditsOptions, parts: AuditsParts): NodeAudits {
  const { self, lineage, layout } = options
  const { swarm, phases, proofs, monotonic } = parts
  const own = createOwnReceipts(options, parts)
  const judge = createJudge(options, parts)

  const receiptOf = async (peer: string | undefined): Promise<Told> => {
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
    if (receipts && found) return { ...found, bytes: (hash, size) => receipts.fetch(peer, { hash, size }) }
    throw new WaggleError('E_PEER', `${peerName(peer)} has no receipt for this model`, {
      hint: 'It must be connected, train the same model, and have swarm.audits = true.',
    })
  }

  return {
    ...{ recorder: own.recorder, receipt: own.receipt, joined: own.joined },

    async made(head) {
      if (options.follows()) {
        parts.ownHeads.add(head.bytes)
        await parts.keepHead(head.bytes, parts.ownHeads.names())
      }
      await own.made(head)
    },

    ...{ draws: parts.budget.draws, cost: parts.budget.info },
    nextStranger: (strangers) => parts.ladder.next(strangers, monotonic()),

    follow: (peer, heads) =>
      follow(
        peer,
        { lineage, values: layout.size },
        {
          ...parts,
          ...heads,
          draws: parts.budget.draws,
          origin: () => toVector(layout, parts.policy.initial),
          audit: (told, step) => judge.step(told, step, parts.random),
        },
      ),

    async begun(weights) {
      if (layout.size <= MAX_VALUES) await parts.keepWarmStart(toVector(layout, weights))
    },
    accused: judge.accused,
    nextAccusation: judge.next,
    repeat: () => proofs.repeat(monotonic()),
    check: judge.check,

    audit: ({ peer, all = false }, signal) =>
      phases.run('audit', { unit: 'steps' }, async (at) => {
        const told = await receiptOf(peer)
        const { receipt } = told
        const { steps } = receipt
        const drawn = all ? steps : steps.slice(Math.floor(parts.random() * steps.length)).slice(0, 1)
        const audited: AuditedStep[] = []
        for (const [i, step] of drawn.entries()) {
          at(i, drawn.length)
          signal?.throwIfAborted()
          audited.push(describe(step, receipt, await judge.step(told, step)))
        }
        const head = await judge.head(told)
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
