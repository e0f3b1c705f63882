// Strangers whose weights may be averaged. A stranger's steps must form a chain (chain.ts), at which this node looks
// often. It signs a receipt of its newest steps; then, at a look that is drawn (budget.ts), one of those that are new
// is drawn, and the chain goes on to the receipt's end only if that one is computed again. Whoever forges a share f of
// its steps passes k draws in a row with a chance of (1 - f)^k. So after k draws f = 1 - 0.01^(1/k) can be ruled out
// with 99 %, and the stranger's weights count 1 - f of what they would. All strangers together share what one newcomer
// counts for. The tokens of the batches that were drawn must also look as if the stranger's policy had written them
// (../sharing/typicality.ts), or right answers could carry a mark.
//
// A chain ends for good where a step was forged, is not served or cannot be computed here. Then its author can only
// begin anew, with the first values, and without what it has earned.
//
// It has no loop, no clock and no network.

import type { Receipt, StateHashes } from '../../../protocol/wire/index.ts'
import { type Evidence, type Odds, reviewed, type Typicality, untested } from '../sharing/typicality.ts'
import { beginningIn, type ChainStep, keyOf, readChain } from './chain.ts'

export interface LadderOptions {
  /** The state of version 0. */
  first: StateHashes
  restored?: readonly Climber[]
  /** The most steps that a receipt holds (`stepsHeld`); as many as one may have if left out. */
  most?: number
}

export interface Climber {
  author: string
  /** Draws passed in a row. */
  passed: number
  /** Newest last. */
  states: readonly StateHashes[]
  /** Of the tokens in its batches. */
  typicality: Typicality
}

export interface Ladder {
  /** The stranger to look at next, of those that are connected; undefined if there is none. `now`: monotonic ms. */
  next(strangers: readonly string[], now: number): string | undefined
  /** The state that the receipt's author began with, if that must be compared first: then it is told to `begun`. */
  beginning(receipt: Receipt): StateHashes | undefined
  begun(author: string, state: StateHashes): void
  /**
   * Reads a signed receipt, and says which step to compute again, if one is to be: `draws` is asked where it could. `waits`:
   * there are too few new steps. `seen`: the chain goes on without a draw. If the chain is broken, the author has nothing
   * any more.
   */
  look(
    receipt: Receipt,
    draws: () => boolean,
    now: number,
  ): { drawn: ChainStep } | { broken: string } | 'waits' | 'seen'
  /** The step that was drawn from this receipt was computed again; `evidence`: where the tokens of its batch lie. */
  passed(receipt: Receipt, evidence: Evidence): void
  /** It was not, for whatever reason. */
  broke(author: string, now: number): void
  /** Whether weights of this hash are in the author's chain, or would be with the receipt's steps. */
  isKnown(weights: string, receipt: Receipt): boolean
  /** 0 to 1: how much the author's weights count, of what one newcomer does. */
  weight(author: string): number
  /** Of those who are followed. */
  list(): { author: string; passed: number; likeness: Typicality['likeness']; weight: number }[]
}

/**
 * A draw from fewer steps would be of other odds than one from many. Where a receipt holds fewer than twice as many, half of
 * what it holds.
 */
const LEAST_STEPS = 4
/** Draws after which a stranger's weights count at all: half of its steps could be forged with a chance of 3 %. */
const LEAST_DRAWS = 5
const DOUBT = 0.01
/** Strangers who are followed at a time: they share what audits may cost. */
const MOST = 2
/** A chain that broke, or never began, is looked at again after so many ms. */
const AGAIN_MS = 10 * 60_000
/** Weights that a head was compared with may be as old as a trial is long. */
const MAX_STATES = 512
/** Authors of which is remembered that their chains broke, or where they began. */
const MAX_AUTHORS = 256

const begun = (): Omit<Climber, 'author'> => ({ passed: 0, states: [], typicality: untested() })

export function createLadder(
  { first, restored = [], most = 2 * LEAST_STEPS }: LadderOptions,
  {
    hasHead,
    warmStart = () => undefined,
    odds,
    random,
    onChange = () => {},
  }: {
    /** Whether this node made the head of that hash, and still has it. */
    hasHead(hash: string): boolean
    /** SHA-256 of the weights that this node's own warm start made, if it had one. */
    warmStart?(): string | undefined
    /** What each bet pays for a token, by this node's own tokens. */
    odds(): Odds
    random(): number
    onChange?(climbers: readonly Climber[]): void
  },
): Ladder {
  const least = Math.max(1, Math.min(LEAST_STEPS, Math.floor(most / 2)))
  const climbers = new Map<string, Climber>(restored.slice(0, MOST).map((one) => [one.author, one]))
  /** By author: when its chain broke. */
  const lost = new Map<string, number>()
  let wasNew = false
  /** Of the climbers. */
  let present: ReadonlySet<string> = new Set()
  /** By author: the end of its warm start. */
  const beginnings = new Map<string, readonly [StateHashes]>()
  const knownOf = (author: string): StateHashes[] => {
    const weights = warmStart()
    const own = weights === undefined ? [] : [{ ...first, weights }]
    return [first, ...own, ...(beginnings.get(author) ?? []), ...(climbers.get(author)?.states ?? [])]
  }
  const broke = (author: string, now: number): void => {
    if (climbers.delete(author)) onChange([...climbers.values()])
    lost.delete(author)
    lost.set(author, now)
    if (lost.size > MAX_AUTHORS) lost.delete(lost.keys().next().value!)
  }
  const rung = (author: string): number => {
    const { passed = 0, typicality } = climbers.get(author) ?? {}
    return passed < LEAST_DRAWS || typicality?.likeness !== 'matched' ? 0 : DOUBT ** (1 / passed)
  }

  const hasPlace = (author: string): boolean =>
    climbers.has(author) || climbers.size < MOST || present.size < climbers.size
  const goOn = ({ author, steps }: Receipt, { states, ...earned }: Omit<Climber, 'author'>): void => {
    const known = new Map(
      [...states, ...steps.flatMap(({ before, after }) => [before, after])].map((one) => [keyOf(one), one]),
    )
    // In the place of one who left, if there is none left.
    if (!climbers.has(author) && climbers.size >= MOST)
      climbers.delete([...climbers.keys()].find((one) => !present.has(one)) ?? climbers.keys().next().value!)
    climbers.set(author, { author, ...earned, states: [...known.values()].slice(-MAX_STATES) })
    onChange([...climbers.values()])
  }

  return {
    next(strangers, now) {
      // The one that was looked at longest ago; whoever has a place keeps it.
      const followed = [...climbers.keys()].filter((author) => strangers.includes(author))
      present = new Set(followed)
      const others = strangers.filter(
        (author) =>
          !climbers.has(author) && !(now - (lost.get(author) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS),
      )
      const isFree = climbers.size < MOST || followed.length < climbers.size
      // In turn: the first steps of a newcomer are soon gone, too.
      wasNew = others.length > 0 && isFree && (followed.length === 0 || !wasNew)
      const [chosen] = wasNew ? others.slice(Math.floor(random() * others.length)) : followed
      const one = chosen === undefined ? undefined : climbers.get(chosen)
      if (one) {
        climbers.delete(one.author)
        climbers.set(one.author, one)
      }
      return chosen
    },

    beginning(receipt) {
      const found = beginningIn(receipt, first)
      const known = knownOf(receipt.author).map(keyOf)
      return found && !known.includes(keyOf(found)) ? found : undefined
    },
    begun(author, state) {
      beginnings.set(author, [state])
      if (beginnings.size > MAX_AUTHORS) beginnings.delete(beginnings.keys().next().value!)
    },

    look(receipt, draws, now) {
      const reading = readChain(receipt, knownOf(receipt.author), hasHead)
      if ('broken' in reading) {
        broke(receipt.author, now)
        return reading
      }
      const { steps } = reading
      if (steps.length < least) return 'waits'
      if (draws()) return { drawn: steps[Math.floor(random() * steps.length)]! }
      if (!hasPlace(receipt.author)) return 'waits'
      goOn(receipt, climbers.get(receipt.author) ?? begun())
      return 'seen'
    },

    passed(receipt, evidence) {
      const { author } = receipt
      const { passed, states, typicality } = climbers.get(author) ?? begun()
      goOn(receipt, { passed: passed + 1, states, typicality: reviewed(typicality, evidence, odds()) })
    },

    broke,
    isKnown: (weights, { author, steps }) =>
      [...knownOf(author), ...steps.flatMap(({ before, after }) => [before, after])].some(
        (state) => state.weights === weights,
      ),
    weight(author) {
      const count = [...climbers.keys()].filter((one) => rung(one) > 0).length
      return count === 0 ? 0 : rung(author) / count
    },
    list: () =>
      [...climbers.values()].map(({ author, passed, typicality: { likeness } }) => ({
        ...{ author, passed, likeness, weight: rung(author) },
      })),
  }
}
