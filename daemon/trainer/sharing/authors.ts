// What a trainer remembers about each peer whose groups it has trained on: whether its log-probs are believed, whether
// its groups help, its share of the foreign gradient, and whether it is set aside. Bounded; the least recent goes first.

import type { SharingContributor } from '../../../protocol/api/index.ts'
import { addPair, meanInterval, noPairs, type Pairs, ratioInterval } from './interval.ts'
import { believed, type Plausibility, type Reported, reviewed } from './plausibility.ts'
import { addTrust, noTrust, STRANGER, type Trust, weightOf } from './trust.ts'

export interface AuthorFinding {
  author: string
  kind: 'set aside' | 'log-probs not believed'
  reason: string
}

export interface SetAside {
  author: string
  /** Updates that it still stays out. */
  updates: number
  offences: number
  reason: string
}

export interface Authors {
  isSetAside(author: string): boolean
  isBelieved(author: string): boolean
  /** After an update: progress per compute of one author's groups and of own ones, in the judge's unit. */
  observe(
    author: string,
    seen: {
      gain: number | undefined
      own: number | undefined
      /** Of its gradient as applied, in units of the own one's. */
      norm: number
      reported?: Reported | undefined
    },
  ): AuthorFinding[]
  /** After an update: progress per compute of all foreign groups and of own ones, in the judge's unit. */
  observeAll(gain: number | undefined, own: number | undefined): void
  /** What an author's gradient is multiplied with, by what its groups and those of all peers have brought; 0 to 1. */
  weight(author: string): number
  /** The largest norm that an author's gradient may have in this update, in units of the own one's. */
  allowance(author: string): number
  /** Once an update: times run down, shares fade, allowances grow. `peers` are those that might have written something. */
  tick(peers: number): void
  setAside(author: string, reason: string): void
  /** Of an author of whom nothing is known. */
  readonly weightOfAny: number
  contributors(): SharingContributor[]
  readonly setAsideCount: number
  /** What a checkpoint keeps. */
  save(): SetAside[]
}

interface Author {
  plausibility: Plausibility
  reports: boolean
  trust: Trust
  pairs: Pairs
  norm: number
  /** Squared norm, in units of the own gradient's, that it may still use. */
  allowance: number
  away: number
  offences: number
  reason: string | undefined
}

const CAPACITY = 512
const SHOWN = 32
/** Updates that a first offence costs; each further one twice as many. A whole run of this many good ones forgives one. */
const FIRST_PENALTY = 50
const LONGEST_PENALTY = 6400
/** Chance that a peer whose groups do no harm is ever set aside for them, in one epoch. */
const ALPHA = 0.01
const EPOCH = 400
const FADE = 0.97
/** Updates that the expectation counts for: of all peers as of a stranger, and of one author as of all peers. */
const STRANGERS = 10
const PEERS = 20
/**
 * Of the squared norm that the foreign gradient may have, so many fair shares may be one author's in the long run. Fair
 * is among all peers that are there, not among those that have something to say just now: else whoever keeps making
 * groups with a signal when the others have learnt all of theirs would own the whole foreign gradient.
 */
const FAIR = 1.5

export function createAuthors({ restored = [] }: { restored?: readonly SetAside[] }): Authors {
  const all = new Map<string, Author>()
  const foreign = noTrust()
  const weightOfAny = (): number => weightOf(foreign, STRANGER, STRANGERS)
  let peers = 1
  const of = (name: string): Author => {
    const found = all.get(name) ?? {
      plausibility: believed(),
      reports: false,
      trust: noTrust(),
      pairs: noPairs(),
      norm: 0,
      allowance: FAIR / Math.max(1, peers),
      away: 0,
      offences: 0,
      reason: undefined,
    }
    all.delete(name)
    all.set(name, found)
    if (all.size > CAPACITY) {
      // Who is set aside is remembered longest: forgetting would be a way back.
      const oldest = [...all].find(([, { away }]) => away === 0) ?? [...all][0]!
      all.delete(oldest[0])
    }
    return found
  }
  const banish = (name: string, reason: string): void => {
    const author = of(name)
    author.away = Math.min(LONGEST_PENALTY, FIRST_PENALTY * 2 ** author.offences)
    author.offences += 1
    author.reason = reason
    author.pairs = noPairs()
  }
  for (const { author, updates, offences, reason } of restored)
    Object.assign(of(author), { away: updates, offences, reason })

  return {
    isSetAside: (name) => (all.get(name)?.away ?? 0) > 0,
    isBelieved: (name) => all.get(name)?.plausibility.believed ?? true,

    allowance: (name) => Math.sqrt(of(name).allowance),
    weight: (name) => weightOf(of(name).trust, weightOfAny(), PEERS),

    get weightOfAny() {
      return weightOfAny()
    },

    observeAll(gain, own) {
      if (isNumber(gain) && isNumber(own)) addTrust(foreign, gain, own)
    },

    observe(name, { gain, own, norm, reported }) {
      const author = of(name)
      const findings: AuthorFinding[] = []
      author.norm += norm
      author.allowance = Math.max(0, author.allowance - norm * norm)
      if (reported) {
        author.reports = true
        const before = author.plausibility
        author.plausibility = reviewed(before, reported)
        if (before.believed && !author.plausibility.believed)
          findings.push({
            author: name,
            kind: 'log-probs not believed',
            reason: author.plausibility.reason ?? '',
          })
      }
      if (isNumber(gain) && isNumber(own)) addTrust(author.trust, gain, own)
      if (author.away === 0 && isNumber(gain) && isNumber(own)) {
        if (author.pairs.count >= EPOCH) {
          author.pairs = noPairs()
          author.offences = Math.max(0, author.offences - 1)
        }
        addPair(author.pairs, gain, own)
        if (meanInterval(author.pairs, 0, ALPHA).high < 0) {
          const reason = "its groups pull against what this node's own rollouts teach"
          banish(name, reason)
          findings.push({ author: name, kind: 'set aside', reason })
        }
      }
      return findings
    },

    tick(present) {
      peers = Math.max(1, present)
      for (const author of all.values()) {
        author.norm *= FADE
        author.allowance = Math.min(1, author.allowance + FAIR / peers)
        if (author.away > 0) author.away -= 1
      }
    },

    setAside: banish,

    contributors() {
      const total = [...all.values()].reduce((sum, { norm }) => sum + norm, 0)
      const everyone = weightOfAny()
      return [...all]
        .filter(([, { norm, away }]) => norm > 1e-9 || away > 0)
        .map(([peer, { norm, pairs, away, reason, plausibility, reports, trust }]): SharingContributor => {
          const ratio = pairs.count > 2 ? ratioInterval(pairs, 0.05) : undefined
          return {
            peer,
            share: total > 0 ? norm / total : 0,
            weight: away > 0 ? 0 : weightOf(trust, everyone, PEERS),
            ...(ratio ? { effect: ratio.value - 1 } : {}),
            ...(ratio && Number.isFinite(ratio.low) ? { low: ratio.low - 1 } : {}),
            ...(ratio && Number.isFinite(ratio.high) ? { high: ratio.high - 1 } : {}),
            comparisons: pairs.count,
            ...(away > 0 && reason !== undefined ? { setAside: reason } : {}),
            logprobs: !plausibility.believed ? 'not believed' : reports ? 'used' : 'none',
          }
        })
        .sort((a, b) => b.share - a.share)
        .slice(0, SHOWN)
    },

    get setAsideCount() {
      return [...all.values()].filter(({ away }) => away > 0).length
    },

    save: () =>
      [...all]
        .filter(([, { away }]) => away > 0)
        .map(([author, { away, offences, reason }]) => ({
          author,
          updates: away,
          offences,
          reason: reason ?? '',
        })),
  }
}

function isNumber(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value)
}
