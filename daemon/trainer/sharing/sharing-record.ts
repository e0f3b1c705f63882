// What a node learns about sharing from its updates: whether foreign groups help, what each author contributes, and how
// many foreign groups the next batch may have.

import type { SharingInfo } from '../../../protocol/api/index.ts'
import { filledBatch } from '../batch/batch-size.ts'
import { countsOf, evidenceOf } from '../watch.ts'
import { type Authors, createAuthors } from './authors.ts'
import type { LearnerState } from './evidence.ts'
import { createJudge, type Judge, type PartProgress } from './judge.ts'
import type { MeanOwnPart, PartReport } from './mixing/part.ts'

interface SharingRecordOptions {
  /** As they are now. `limit`: maximum of J. `usual`: maximum number of own groups in a batch (I). */
  settings(): { limit: number; batchGroups: number }
  /** False keeps J at its maximum, whatever the verdict. */
  adaptive: boolean
  restored: LearnerState | undefined
}

interface SharingRecordParts {
  /** Compute spent on a part of an update, including generation of own groups, in any unit that all parts share. */
  cost(part: PartReport): number
  onGuard(finding: { guard: string; message: string; peers: string[] }): void
  /** Called when J changes. */
  onChange(
    change: { before: number; foreign: number } & Pick<SharingInfo, 'verdict' | 'effect' | 'low' | 'high'>,
  ): void
}

export interface SharingRecord {
  authors: Authors
  judge: Judge
  /** The usual own part: a mean over about the last ten. Undefined before the first one in this run. */
  readonly meanOwn: MeanOwnPart | undefined
  /** Call after each update. `learnt` is false if foreign parts were only measured. */
  observe(parts: readonly PartReport[], learnt: boolean): void
  info(): SharingInfo
  /** State for a checkpoint. */
  save(): Required<LearnerState>
}

/** Decay of the means in `usual`. */
const MEAN_DECAY = 0.9

const UNIT = 'of the progress that the same compute on own groups brings'

const LEFT_OUT: Record<NonNullable<PartReport['leftOut']>, string> = {
  'not finite': 'their gradient was not finite',
  'effective sample size': 'a few tokens had nearly all the importance weight',
}

export function createSharingRecord(
  options: SharingRecordOptions,
  { cost, onGuard, onChange }: SharingRecordParts,
): SharingRecord {
  const { restored } = options
  const authors = createAuthors({
    restored: restored && { ...restored, ...restored.evidence },
  })
  const judge = createJudge({
    settings() {
      const { limit, batchGroups: own } = options.settings()
      return { limit, best: filledBatch(own, Number.POSITIVE_INFINITY).foreign }
    },
    adaptive: options.adaptive,
    restored: restored?.evidence?.judge,
  })
  let last: SharingInfo['last']

  let meanOwn: MeanOwnPart | undefined

  const observeAuthor = (part: PartReport, own: number | undefined, ownNorm: number): void => {
    const author = part.author!
    if (part.leftOut !== undefined) {
      const message = `a peer's groups were left out of a step: ${LEFT_OUT[part.leftOut]}`
      onGuard({ guard: part.leftOut, message, peers: [author] })
    }
    const gain = totalOf([part], cost)
    const findings = authors.observe(author, {
      gain: gain && judge.scaled(gain),
      own,
      norm: Math.max(0, finite((part.scale * part.gradientNorm) / ownNorm)),
      tokens: evidenceOf(part),
    })
    for (const { kind, reason } of findings) onGuard({ guard: kind, message: reason, peers: [author] })
  }

  return {
    authors,
    judge,

    get meanOwn() {
      return meanOwn
    },

    observe(parts, learnt) {
      const mine = parts.filter(({ author }) => author === undefined)
      const theirs = parts.filter(({ author }) => author !== undefined)
      const used = theirs.filter(({ scale }) => scale > 0)
      last = {
        own: groupsIn(mine),
        foreign: groupsIn(used),
        peers: new Set(used.map(({ author }) => author)).size,
      }
      const own = totalOf(mine, cost)
      // `measured`: by the foreign gradients' own component along the mean of own ones. `foreign`: by what their steps
      // contributed.
      const measured = totalOf(theirs, cost)
      const alongForeign = mine.reduce((sum, part) => sum + (part.alongForeign ?? Number.NaN), 0)
      const foreign =
        measured && learnt && !Number.isNaN(alongForeign) ? { ...measured, gain: alongForeign } : measured
      const scaled = own && judge.scaled(own)
      for (const part of mine) meanOwn = meanWith(meanOwn, part)
      const ownNorm = Math.max(
        meanOwn?.gradientNorm ?? 0,
        ...mine.map(({ gradientNorm }) => gradientNorm),
        1e-30,
      )
      for (const part of mine) {
        const counts = countsOf(part)
        if (counts) authors.calibrate(counts)
      }
      for (const part of theirs) observeAuthor(part, scaled, ownNorm)
      authors.tick()
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

    info() {
      const { batchGroups: own, limit } = options.settings()
      return {
        ...judge.state,
        unit: UNIT,
        ...{ own, limit },
        ...(last && { last }),
        contributors: authors.contributors(),
      }
    },

    save() {
      const { setAside, ...known } = authors.save()
      return {
        setAside,
        evidence: { judge: judge.save(), ...known },
      }
    },
  }
}

/** A part whose gradient is not finite leaves the mean as it was. */
function meanWith(
  before: MeanOwnPart | undefined,
  { gradientNorm, count }: MeanOwnPart,
): MeanOwnPart | undefined {
  if (!Number.isFinite(gradientNorm) || !before)
    return Number.isFinite(gradientNorm) ? { gradientNorm, count } : before
  const mixed = (old: number, now: number): number => MEAN_DECAY * old + (1 - MEAN_DECAY) * now
  return {
    gradientNorm: mixed(before.gradientNorm, gradientNorm),
    count: mixed(before.count, count),
  }
}

function groupsIn(parts: readonly PartReport[]): number {
  return parts.reduce((sum, { groups }) => sum + groups, 0)
}

/** Sums progress and compute over parts; undefined without parts or without a mean of own gradients. */
function totalOf(parts: readonly PartReport[], cost: (part: PartReport) => number): PartProgress | undefined {
  if (parts.length === 0) return undefined
  let total = { gain: 0, cost: 0 }
  for (const part of parts) {
    if (part.alongOwn === undefined && part.leftOut === undefined) return undefined
    total = {
      gain: total.gain + (part.leftOut === undefined ? part.alongOwn! * part.wouldScale : 0),
      cost: total.cost + cost(part),
    }
  }
  return total
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : 0
}
