// All authors whose groups this node has trained on: whether their tokens are like its own, whether their groups help,
// their share of the foreign gradient, and whether they are set aside. The number of authors is bounded; the least
// recently seen one is forgotten first.

import type { SharingContributor } from '../../../protocol/api/index.ts'
import { type Author, contributorOf, hasEarned, stranger, weightOfAuthor } from './author.ts'
import { type AuthorsState, MAX_AUTHORS } from './evidence.ts'
import { addPair, meanInterval, noPairs } from './interval.ts'
import {
  calibrated,
  type Evidence,
  isUnlike,
  type Odds,
  oddsOf,
  reasonOf,
  reviewed,
  uncalibrated,
} from './typicality.ts'

interface AuthorFinding {
  author: string
  kind: 'set aside' | 'unlike'
  reason: string
}

export interface Authors {
  isSetAside(author: string): boolean
  /** True while it is unknown if the author's policy is like this node's. */
  isUnknown(author: string): boolean
  /** Takes tokens of an author that are not trained on. Returns what follows from them. */
  addTokens(author: string, tokens: Evidence): AuthorFinding[]
  /** Whether the author's log-probs may be used: true unless it is mismatched. */
  isBelieved(author: string): boolean
  /** Takes the number of own tokens in each bin of places, the baseline for peers' tokens. */
  calibrate(counts: readonly number[]): void
  /** What each bet on a peer's tokens pays, by own tokens. */
  odds(): Odds
  /** Call after each update with the author's and the own progress per compute, in the judge's unit. */
  observe(
    author: string,
    seen: {
      gain: number | undefined
      own: number | undefined
      /** Norm of its applied gradient, relative to the own one. */
      norm: number
      tokens?: Evidence | undefined
    },
  ): AuthorFinding[]
  /**
   * Weight of an author's groups in a batch, 0 to 1: full until it is fairly sure that they bring less than own
   * groups. Undefined for a newcomer. `tokens`: tokens of the groups to be weighed.
   */
  earnedWeight(author: string, tokens?: Evidence): number | undefined
  /** Call once per update. Reduces penalties and decays shares. */
  tick(): void
  /** Whether the author's tokens were found to come from a policy like this node's, and it is not set aside. */
  hasEarned(author: string): boolean
  setAside(author: string, reason: string): void
  /**
   * Whether the author's groups seem harmful: too uncertain to set it aside now, but certain enough after a roll-back.
   */
  isSuspect(author: string): boolean
  contributors(): SharingContributor[]
  /** State for a checkpoint. */
  save(): AuthorsState
}

const SHOWN = 32
/**
 * Number of updates for which a first offence sets an author aside. It doubles with each further offence; an epoch
 * without an offence forgives one.
 */
const FIRST_PENALTY = 50
const LONGEST_PENALTY = 6400
/** Maximum probability per epoch that an author whose groups do no harm is set aside for them. */
const ALPHA = 0.01
/** Maximum probability per epoch that a harmless author is a suspect after a roll-back. */
const SUSPECT_ALPHA = 0.1
const EPOCH = 400
const FADE = 0.97

/** `restored`: from a checkpoint; older checkpoints contain only the authors that are set aside. */
export function createAuthors({ restored }: { restored?: Partial<AuthorsState> | undefined }): Authors {
  const all = new Map<string, Author>()
  let own = [...(restored?.calibration ?? uncalibrated())]
  let odds = oddsOf(own)
  const of = (name: string): Author => {
    const found = all.get(name) ?? stranger()
    all.delete(name)
    all.set(name, found)
    if (all.size > MAX_AUTHORS) {
      // Authors that are set aside are forgotten last, because forgetting them would readmit them. Strangers go first.
      const present = [...all].filter(([, { away }]) => away === 0)
      const oldest = present.find(([, author]) => !hasEarned(author)) ?? present[0] ?? [...all][0]!
      all.delete(oldest[0])
    }
    return found
  }
  const setAside = (name: string, reason: string): void => {
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

  const addTokens = (name: string, tokens: Evidence): AuthorFinding[] => {
    const author = of(name)
    const before = author.typicality
    author.typicality = reviewed(before, tokens, odds)
    if (before.likeness === 'mismatched' || author.typicality.likeness !== 'mismatched') return []
    return [{ author: name, kind: 'unlike', reason: reasonOf(author.typicality) }]
  }

  return {
    addTokens,
    isUnknown(name) {
      const author = all.get(name)
      return !author || (author.away === 0 && author.typicality.likeness === 'unknown')
    },
    isSetAside: (name) => (all.get(name)?.away ?? 0) > 0,
    isBelieved: (name) => all.get(name)?.typicality.likeness !== 'mismatched',

    odds: () => odds,
    calibrate(counts) {
      own = calibrated(own, counts)
      odds = oddsOf(own)
    },

    earnedWeight(name, tokens) {
      const author = all.get(name)
      if (author?.typicality.likeness === 'mismatched' || (tokens && isUnlike(tokens, odds))) return 0
      return author && hasEarned(author) ? weightOfAuthor(author) : undefined
    },

    observe(name, { gain, own: ownGain, norm, tokens }) {
      const author = of(name)
      const findings: AuthorFinding[] = []
      author.norm += norm
      if (tokens) findings.push(...addTokens(name, tokens))
      if (author.away === 0 && isNumber(gain) && isNumber(ownGain)) {
        if (author.pairs.count >= EPOCH) {
          author.pairs = noPairs()
          author.offences = Math.max(0, author.offences - 1)
        }
        addPair(author.pairs, gain, ownGain)
        if (meanInterval(author.pairs, 0, ALPHA).high < 0) {
          const reason = 'its groups work against what this node learns from its own rollouts'
          setAside(name, reason)
          findings.push({ author: name, kind: 'set aside', reason })
        }
      }
      return findings
    },

    tick() {
      for (const author of all.values()) {
        author.norm *= FADE
        if (author.away > 0) author.away -= 1
      }
    },

    hasEarned(name) {
      const author = all.get(name)
      return author !== undefined && hasEarned(author)
    },

    setAside,
    isSuspect(name) {
      const pairs = all.get(name)?.pairs
      return pairs !== undefined && meanInterval(pairs, 0, SUSPECT_ALPHA).high < 0
    },

    contributors: () => contributorsOf(all),
    save: () => stateOf(all, own),
  }
}

function contributorsOf(all: ReadonlyMap<string, Author>): SharingContributor[] {
  const total = [...all.values()].reduce((sum, { norm }) => sum + norm, 0)
  return [...all]
    .filter(([, { norm, away, typicality }]) => norm > 1e-9 || away > 0 || typicality.likeness !== 'unknown')
    .map(([peer, author]) => contributorOf(peer, author, total))
    .sort((a, b) => b.share - a.share)
    .slice(0, SHOWN)
}

function stateOf(all: ReadonlyMap<string, Author>, own: readonly number[]): AuthorsState {
  return {
    setAside: [...all]
      .filter(([, { away }]) => away > 0)
      .map(([author, { away, offences, reason }]) => ({
        author,
        updates: away,
        offences,
        reason: reason ?? '',
      })),
    calibration: [...own],
    authors: [...all].map(([author, { away: _, reason: __, ...known }]) => ({
      author,
      ...structuredClone(known),
    })),
  }
}

function isNumber(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value)
}
