// Which accusations this node checks, and what follows. Nobody believes an accusation: the node computes the step
// again, and believes that. A node accuses only of what is far beyond the tolerance, so that others, who round
// otherwise, find the same; who accuses of what is far within it is not listened to any more. In between, nothing
// follows.
//
// Data in, data out: no loop, no clock, no network.

import type { Accusation, Receipt, ReceiptStep } from '../../../protocol/wire/index.ts'
import type { Verdict } from './audit.ts'
import { timesTolerated } from './compare.ts'

/** proved: the accused forged the step. false: it did not. open: this node cannot tell. known: it has judged the step before. */
export type Finding = 'proved' | 'false' | 'open' | 'known'

export interface Accusations {
  /** One came. */
  take(accusation: Accusation): void
  /** The one to check now. Those whose accused could count for nothing here are dropped. `now`: monotonic ms. */
  next(concerns: (accused: string) => boolean, now: number): Accusation | undefined
  /** It has been checked. */
  ended(accusation: Accusation, finding: Finding): void
  /** This node has judged this step, or without one the head: once is enough, and other receipts may name it again. */
  judged(receipt: Receipt, step: ReceiptStep | undefined): void
  isJudged(receipt: Receipt, step: ReceiptStep | undefined): boolean
}

/** Checks an hour: each costs what an audit does. */
const BUDGET = { checks: 2, ms: 3_600_000 }
const MAX_WAITING = 32
const MAX_REMEMBERED = 1024
/** Of the tolerance. */
const [ACCUSED_ABOVE, FALSE_BELOW] = [2, 0.5]

export function createAccusations(
  { self, lineage }: { self: string; lineage: string },
  {
    random,
    isKnown,
  }: {
    random(): number
    /** Whether it is not one of countless new identities; it then goes first. */
    isKnown(accuser: string): boolean
  },
): Accusations {
  /** One of each accuser. */
  const waiting = new Map<string, Accusation>()
  const [seen, liars] = [createMemory(), createMemory()]
  let checks: number[] = []
  const drop = ({ author }: Accusation): void => void waiting.delete(author)

  return {
    take(accusation) {
      const { author, accused } = accusation
      const isNothing = accusation.lineage !== lineage || accused === self || accused === author
      if (isNothing || liars.has(author) || seen.has(keyOf(accusation))) return
      waiting.delete(author)
      waiting.set(author, accusation)
      if (waiting.size <= MAX_WAITING) return
      const authors = [...waiting.keys()]
      waiting.delete(authors.find((one) => !isKnown(one)) ?? authors[0]!)
    },

    next(concerns, now) {
      for (const one of [...waiting.values()])
        if (!concerns(one.accused) || seen.has(keyOf(one)) || liars.has(one.author)) drop(one)
      checks = checks.filter((at) => now - at < BUDGET.ms)
      if (waiting.size === 0 || checks.length >= BUDGET.checks) return undefined
      const all = [...waiting.values()]
      const known = all.filter(({ author }) => isKnown(author))
      const from = known.length > 0 ? known : all
      const chosen = from[Math.floor(random() * from.length)]!
      drop(chosen)
      checks.push(now)
      return chosen
    },

    ended(accusation, finding) {
      // What did not come from one accuser may come from another.
      if (finding !== 'open') seen.add(keyOf(accusation))
      if (finding === 'false') liars.add(accusation.author)
    },
    judged: (receipt, step) => seen.add(markOf(receipt, step)),
    isJudged: (receipt, step) => seen.has(markOf(receipt, step)),
  }
}

const keyOf = ({ accused, receipt, step }: Accusation): string => `${accused} ${receipt} ${step}`

const markOf = ({ author, head }: Receipt, step: ReceiptStep | undefined): string =>
  step
    ? [author, step.before.weights, step.before.moments, step.after.weights, step.after.moments].join(' ')
    : `${author} ${head?.hash}`

/** Forgets the oldest. */
function createMemory(): { has(key: string): boolean; add(key: string): void } {
  const keys = new Set<string>()
  return {
    has: (key) => keys.has(key),
    add(key) {
      keys.add(key)
      if (keys.size > MAX_REMEMBERED) keys.delete(keys.keys().next().value!)
    },
  }
}

/** Whether others will find the same, so that this node may accuse. */
export function isProof(verdict: Verdict): boolean {
  return (
    verdict.outcome === 'failed' &&
    !(verdict.difference && timesTolerated(verdict.difference) <= ACCUSED_ABOVE)
  )
}

export function findingOf(verdict: Verdict): Finding {
  if (verdict.outcome === 'failed') return 'proved'
  return verdict.outcome === 'passed' && timesTolerated(verdict.difference) < FALSE_BELOW ? 'false' : 'open'
}
