// What a trainer remembers about each peer whose groups it has trained on: whether its log-probs are believed, whether
// its groups help, its share of the foreign gradient, and whether it is set aside. Bounded; the least recent goes first.

import type { SharingContributor } from '../../../protocol/api/index.ts'
import { type Author, contributorOf, stranger, weightOfAuthor } from './author.ts'
import { type AuthorsState, MOST_AUTHORS } from './evidence.ts'
import { addPair, meanInterval, noPairs } from './interval.ts'
import { type Reported, reviewed } from './plausibility.ts'
import { addTrust, noTrust, STRANGER, weightOf } from './trust.ts'

export interface AuthorFinding {
  author: string
  kind: 'set aside' | 'log-probs not believed'
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
      /** What the gains of all are above what their steps turned out to bring, in the same unit; 0 if left out. */
      flattery?: number
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
  save(): AuthorsState
}

const SHOWN = 32
/** Updates that a first offence costs; each further one twice as many. A whole run of this many good ones forgives one. */
const FIRST_PENALTY = 50
const LONGEST_PENALTY = 6400
/** Chance that a peer whose groups do no harm is ever set aside for them, in one epoch. */
const ALPHA = 0.01
const EPOCH = 400
const FADE = 0.97
/** Updates that the expectation of all peers counts for, as of a stranger. */
const STRANGERS = 10
/**
 * Of the squared norm that the foreign gradient may have, so many fair shares may be one author's in the long run. Fair
 * is among all peers that are there, not among those that have something to say just now: else whoever keeps making
 * groups with a signal when the others have learnt all of theirs would own the whole foreign gradient.
 */
const FAIR = 1.5

/** What is restored may be of an older checkpoint, which knows only who is set aside. */
export function createAuthors({ restored }: { restored?: Partial<AuthorsState> | undefined }): Authors {
  const all = new Map<string, Author>()
  const foreign = restored?.peers ? { ...restored.peers } : noTrust()
  const weightOfAny = (): number => weightOf(foreign, STRANGER, STRANGERS)
  let peers = 1
  const of = (name: string): Author => {
    const found = all.get(name) ?? stranger(FAIR / Math.max(1, peers))
    all.delete(name)
    all.set(name, found)
    if (all.size > MOST_AUTHORS) {
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
  for (const { author, ...known } of structuredClone(restored?.authors ?? []))
    Object.assign(of(author), known)
  for (const { author, updates, offences, reason } of restored?.setAside ?? [])
    Object.assign(all.get(author) ?? of(author), { away: updates, offences, reason })

  return {
    isSetAside: (name) => (all.get(name)?.away ?? 0) > 0,
    isBelieved: (name) => all.get(name)?.plausibility.believed ?? true,

    allowance: (name) => Math.sqrt(of(name).allowance),
    weight: (name) => weightOfAuthor(of(name), weightOfAny()),

    get weightOfAny() {
      return weightOfAny()
    },

    observeAll(gain, own) {
      if (isNumber(gain) && isNumber(own)) addTrust(foreign, gain, own)
    },

    observe(name, { gain, own, flattery = 0, norm, reported }) {
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
      if (isNumber(gain) && isNumber(own)) addTrust(author.trust, gain - flattery, own)
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
      const ofAny = weightOfAny()
      return [...all]
        .filter(([, { norm, away }]) => norm > 1e-9 || away > 0)
        .map(([peer, author]) => contributorOf(peer, author, { total, ofAny }))
        .sort((a, b) => b.share - a.share)
        .slice(0, SHOWN)
    },

    get setAsideCount() {
      return [...all.values()].filter(({ away }) => away > 0).length
    },

    save: () => ({
      setAside: [...all]
        .filter(([, { away }]) => away > 0)
        .map(([author, { away, offences, reason }]) => ({
          author,
          updates: away,
          offences,
          reason: reason ?? '',
        })),
      peers: { ...foreign },
      authors: [...all].map(([author, { away: _, reason: __, ...known }]) => ({
        author,
        ...structuredClone(known),
      })),
    }),
  }
}

function isNumber(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value)
}
