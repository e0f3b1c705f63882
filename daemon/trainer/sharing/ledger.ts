// What a node knows about its peers' groups from training on them: whether they help, who wrote them, how many the next
// batch has and what each weighs. Told of every update, asked before the next.

import type { SharingInfo } from '../../../protocol/api/index.ts'
import type { PartReport } from '../step.ts'
import { reportedOf } from '../watch.ts'
import { type Authors, createAuthors } from './authors.ts'
import type { LearnerState } from './evidence.ts'
import { createJudge, type Judge, type PartProgress } from './judge.ts'

export interface LedgerOptions {
  /** J at most. Read when used. */
  readonly limit: number
  /** False keeps J at its most, whatever the comparison says. */
  adaptive: boolean
  restored: LearnerState | undefined
}

export interface LedgerParts {
  /** Compute that a part of an update took, own groups' generation included; in any unit that is the same for all. */
  cost(part: PartReport): number
  /** Peers that might send groups. */
  peers(): number
  onGuard(finding: { guard: string; message: string; peers: string[] }): void
  /** J has changed. */
  onChange(
    change: { before: number; foreign: number } & Pick<SharingInfo, 'verdict' | 'effect' | 'low' | 'high'>,
  ): void
}

export interface Ledger {
  authors: Authors
  judge: Judge
  /** After an update; `learnt` is false where foreign parts were only looked at. */
  observe(parts: readonly PartReport[], learnt: boolean): void
  info(own: number): SharingInfo
  /** What a checkpoint keeps. */
  save(): Required<LearnerState>
}

const UNIT = 'of the progress that the same compute on own groups brings'

const LEFT_OUT: Record<NonNullable<PartReport['leftOut']>, string> = {
  'not finite': 'their gradient was not finite',
  'effective sample size': 'nearly all of their weight was on a few tokens',
}

export function createLedger(
  options: LedgerOptions,
  { cost, peers, onGuard, onChange }: LedgerParts,
): Ledger {
  const { restored } = options
  const authors = createAuthors({ restored: restored && { ...restored, ...restored.evidence } })
  const judge = createJudge({
    get limit() {
      return options.limit
    },
    adaptive: options.adaptive,
    get weight() {
      return authors.weightOfAny
    },
    restored: restored?.evidence?.judge,
  })

  const observeAuthor = (
    part: PartReport,
    own: number | undefined,
    ownNorm: number,
    flattery: number,
  ): void => {
    const author = part.author!
    if (part.leftOut !== undefined) {
      const message = `a peer's groups were left out of a step: ${LEFT_OUT[part.leftOut]}`
      onGuard({ guard: part.leftOut, message, peers: [author] })
    }
    const gain = progressOf([part], cost)
    const findings = authors.observe(author, {
      gain: gain && judge.scaled(gain),
      own,
      flattery,
      norm: Math.max(0, finite((part.scale * part.gradientNorm) / ownNorm)),
      reported: reportedOf(part.metrics),
    })
    for (const { kind, reason } of findings) onGuard({ guard: kind, message: reason, peers: [author] })
  }

  return {
    authors,
    judge,

    observe(parts, learnt) {
      const mine = parts.filter(({ author }) => author === undefined)
      const theirs = parts.filter(({ author }) => author !== undefined)
      const own = progressOf(mine, cost)
      // How they look, and what the steps that they made turned out to bring.
      const looked = progressOf(theirs, cost)
      const aside = mine.reduce((sum, part) => sum + (part.aside ?? Number.NaN), 0)
      const foreign = looked && learnt && !Number.isNaN(aside) ? { ...looked, gain: aside } : looked
      const scaled = own && judge.scaled(own)
      const flattery = looked && foreign ? (judge.scaled(looked) ?? 0) - (judge.scaled(foreign) ?? 0) : 0
      const ownNorm = Math.max(...mine.map(({ gradientNorm }) => gradientNorm), 1e-30)
      for (const part of theirs) observeAuthor(part, scaled, ownNorm, flattery)
      authors.observeAll(foreign && judge.scaled(foreign), scaled)
      authors.tick(Math.max(peers(), new Set(theirs.map(({ author }) => author)).size))
      if (!own || !foreign) {
        judge.spent(parts.reduce((sum, part) => sum + cost(part), 0))
        return
      }
      const change = judge.observe(own, foreign, learnt)
      if (!change) return
      const { verdict, effect, low, high } = judge.state
      onChange({
        ...change,
        verdict,
        ...(effect === undefined ? {} : { effect }),
        ...(low === undefined ? {} : { low }),
        ...(high === undefined ? {} : { high }),
      })
    },

    info: (own) => ({
      ...judge.state,
      unit: UNIT,
      own,
      limit: options.limit,
      weight: authors.weightOfAny,
      contributors: authors.contributors(),
    }),

    save() {
      const { setAside, ...known } = authors.save()
      return { setAside, evidence: { judge: judge.save(), ...known } }
    },
  }
}

/** Sum over parts; undefined while there is no compass, or nothing to sum. */
function progressOf(
  parts: readonly PartReport[],
  cost: (part: PartReport) => number,
): PartProgress | undefined {
  if (parts.length === 0) return undefined
  let total = { gain: 0, cost: 0 }
  for (const part of parts) {
    if (part.along === undefined && part.leftOut === undefined) return undefined
    total = {
      gain: total.gain + (part.leftOut === undefined ? part.along! * part.wouldScale : 0),
      cost: total.cost + cost(part),
    }
  }
  return total
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : 0
}
