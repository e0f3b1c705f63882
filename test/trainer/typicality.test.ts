// Whether tokens look drawn from a policy like this node's: how soon what is unlike is found out, how rarely what is like is
// blamed, and what reported log-probs have to do with it.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import {
  ALPHA,
  ALTERNATIVES,
  type Calibration,
  calibrated,
  EDGES,
  isUnlike,
  limitsOf,
  oddsOf,
  payoffs,
  reasonOf,
  reviewed,
  type Typicality,
  uncalibrated,
  untested,
} from '../../daemon/trainer/sharing/typicality.ts'

type Place = (u: number) => number

/** How places come of uniform numbers, for tokens in doubt and the others. */
interface Places {
  unsure: Place
  sure: Place
}
const plain: Place = (u) => u
const HONEST: Places = { unsure: plain, sure: plain }
const inDoubt = (unsure: Place): Places => ({ unsure, sure: plain })
/** A share of tokens that the policy finds all but impossible. */
const planted = (share: number): Places => {
  const place: Place = (u) => (u < share ? 1 - 1e-5 * u : (u - share) / (1 - share))
  return { unsure: place, sure: place }
}
const power =
  (by: number): Place =>
  (u) =>
    1 - (1 - u) ** (1 / by)

const binsOf = (distribution: Place): number[] =>
  EDGES.map((edge, i) => distribution(edge) - distribution(EDGES[i - 1] ?? 0))
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const ODDS = oddsOf(uncalibrated())

/** Counts of so many tokens, of which one in six is in doubt. */
function drawn(tokens: number, random: () => number, { unsure, sure }: Places = HONEST): number[] {
  const counts = uncalibrated()
  for (let t = 0; t < tokens; t++) {
    const isUnsure = t % 6 === 0
    const u = (isUnsure ? unsure : sure)(random())
    const found = EDGES.findIndex((edge) => u < edge)
    counts[(found < 0 ? EDGES.length - 1 : found) + (isUnsure ? 0 : EDGES.length)]! += 1
  }
  return counts
}

interface Run {
  seed?: number
  tokens?: number
  places?: Places
  weight?: number
  odds?: typeof ODDS
  from?: Typicality
}

function* history({ seed = 7, tokens = 300, places, weight, odds = ODDS, from = untested() }: Run) {
  const random = randomStream(seed, 'places')
  for (let state = from; ; yield state)
    state = reviewed(state, { counts: drawn(tokens, random, places), weight }, odds)
}

/** What is thought of it after so many updates. */
function seen(updates: number, run: Run = {}): Typicality {
  let left = updates
  for (const state of history(run)) if (--left === 0) return state
  throw new Error('the history has no end')
}

/** Updates until it is a guide. */
function foundAfter(run: Run, limit = 60): number {
  let updates = 0
  for (const { likeness } of history(run)) {
    updates += 1
    if (likeness === 'mismatched') return updates
    if (updates === limit) break
  }
  return Number.POSITIVE_INFINITY
}

describe('a bet', () => {
  test('cannot be won, on average, by anybody within the limits', () => {
    const random = randomStream(1, 'limits')
    for (const own of [[], drawn(20_000, random, inDoubt(power(1.4))).slice(0, EDGES.length)]) {
      const limits = limitsOf(own)
      for (const { unsure, sure } of Object.values(ALTERNATIVES)) {
        for (const pays of [unsure, sure].map((alternative) => payoffs(binsOf(alternative), limits))) {
          for (let i = 0; i < 100; i++) {
            // The worst cases are corners: bins at their limits, in any order, until nothing is left.
            const order = EDGES.map((_, k) => k).sort(() => random() - 0.5)
            let [left, mean] = [1, 0]
            for (const k of order) {
              const share = Math.min(left, limits[k]!)
              left -= share
              mean += share * pays[k]!
            }
            expect(left).toBeLessThan(1e-9)
            expect(mean).toBeLessThanOrEqual(1 + 1e-9)
          }
        }
      }
    }
  })

  test('wins on its own alternative, and loses on uniform places', () => {
    const limits = limitsOf([])
    for (const [name, { unsure }] of Object.entries(ALTERNATIVES)) {
      const pays = payoffs(binsOf(unsure), limits)
      const growth = (of: readonly number[]): number => sum(of.map((share, k) => share * Math.log(pays[k]!)))
      expect(growth(binsOf(unsure)), name).toBeGreaterThan(0.004)
      expect(growth(binsOf(plain)), name).toBeLessThan(-0.004)
    }
  })

  test('on shares within the limits pays nothing either way', () => {
    for (const pay of payoffs(binsOf(plain), limitsOf([]))) expect(pay).toBeCloseTo(1, 6)
  })
})

describe('an author', () => {
  test('whose tokens this policy could have drawn is a twin after some groups, and is never blamed', () => {
    expect(untested().likeness).toBe('unknown')
    expect(seen(1, { tokens: 40 }).likeness).toBe('unknown')
    let updates = 0
    for (let seed = 1; seed <= 20; seed++) {
      let twin = 0
      for (const { likeness } of history({ seed, weight: 1 })) {
        updates += 1
        twin += likeness === 'matched' ? 1 : 0
        expect(likeness).not.toBe('mismatched')
        if (updates % 100 === 0) break
      }
      expect(twin).toBeGreaterThan(70)
    }
  })

  test.each([
    ['planted text, one token in fifty', planted(0.02), 6],
    ['planted text, one token in twenty', planted(0.05), 3],
    ['nothing but planted text', planted(1), 3],
    ['colder sampling', inDoubt(power(1.6)), 40],
    ['samples picked for their likelihood', inDoubt(power(2.2)), 5],
    ['hotter sampling', inDoubt(power(0.6)), 10],
    // Sampled colder and hotter in turn, so that the mean place is as it should be.
    ['too many in both tails', inDoubt((u) => Math.sin((u * Math.PI) / 2) ** 2), 20],
  ] as const)('of %s is found out within some groups of 300 tokens', (_, places, within) => {
    expect(foundAfter({ places })).toBeLessThanOrEqual(within)
  })

  test('that was a twin for long is found out nearly as soon', () => {
    const from = seen(200)
    expect(from.likeness).toBe('matched')
    expect(foundAfter({ from, places: planted(0.05) })).toBeLessThanOrEqual(4)
  })

  test('is no twin any more once some deviation is ahead, which takes more than one group', () => {
    const from = seen(200)
    const random = randomStream(1, 'late')
    const strange = { counts: drawn(300, random, planted(0.3)) }
    expect(isUnlike(strange, ODDS)).toBe(true)
    const once = reviewed(from, strange, ODDS)
    expect(once.likeness).toBe('matched')
    expect(reviewed(once, strange, ODDS).likeness).not.toBe('matched')
  })

  test('has a group judged by itself: planted text is told, what this policy could have drawn is not', () => {
    const random = randomStream(2, 'one group')
    for (let i = 0; i < 200; i++) {
      expect(isUnlike({ counts: drawn(300, random) }, ODDS)).toBe(false)
      expect(isUnlike({ counts: drawn(300, random, planted(0.15)) }, ODDS)).toBe(true)
    }
  })

  test('that deviates by less than the tolerance is no guide, however long it is watched', () => {
    const place: Place = (u) => (u < 0.52 ? (u * 0.5) / 0.52 : 0.5 + ((u - 0.52) * 0.5) / 0.48)
    expect(foundAfter({ places: { unsure: place, sure: place } }, 200)).toBe(Number.POSITIVE_INFINITY)
  })

  test("that does as this node's own older rollouts do is no guide, where others would be", () => {
    const places = inDoubt(power(1.6))
    expect(foundAfter({ places })).toBeLessThan(60)
    const random = randomStream(4, 'own')
    let own: Calibration = uncalibrated()
    for (let i = 0; i < 100; i++) own = calibrated(own, drawn(3000, random, places))
    expect(foundAfter({ places, odds: oddsOf(own) })).toBe(Number.POSITIVE_INFINITY)
  })

  test('that has become honest is no guide any more once nothing speaks for it', () => {
    const from = seen(5, { places: planted(0.1) })
    expect(from.likeness).toBe('mismatched')
    expect(seen(1, { from }).likeness).toBe('mismatched')
    expect(seen(80, { from }).likeness).toBe('matched')
  })

  test('is told what its tokens look like', () => {
    expect(reasonOf(seen(3, { places: planted(0.3) }))).toMatch(/planted text/)
    expect(reasonOf(seen(9, { places: inDoubt(power(2.2)) }))).toMatch(/picked|colder/)
    expect(reasonOf(seen(30, { weight: 3 }))).toMatch(/likelier .* than it reports/)
  })

  test('that says its tokens were less likely than they were is found out; the opposite harms nobody', () => {
    expect(foundAfter({ weight: 1.3 }, 200)).toBeLessThan(150)
    expect(foundAfter({ weight: 2 })).toBeLessThanOrEqual(35)
    expect(foundAfter({ weight: 1e6 })).toBe(1)
    for (const weight of [1, 0.7, 0.01, 1.08]) expect(foundAfter({ weight })).toBe(Number.POSITIVE_INFINITY)
  })
})

test('false alarms are rarer than stated, at the very limit of what is honest', () => {
  // The worst honest author for each bet: its bins are at the limits where the bet pays most.
  const limits = limitsOf([])
  const UPDATES = 400
  let alarms = 0
  for (const [j, { unsure }] of Object.values(ALTERNATIVES).entries()) {
    const pays = payoffs(binsOf(unsure), limits)
    const worst = EDGES.map(() => 0)
    let left = 1
    for (const k of EDGES.map((_, k) => k).sort((a, b) => pays[b]! - pays[a]!)) {
      worst[k] = Math.min(left, limits[k]!)
      left -= worst[k]!
    }
    const ends = worst.map((_, k) => sum(worst.slice(0, k + 1)))
    const random = randomStream(j, 'worst')
    let state = untested()
    for (let i = 0; i < UPDATES; i++) {
      const counts = uncalibrated()
      for (let t = 0; t < 50; t++) {
        const u = random()
        counts[
          Math.max(
            0,
            ends.findIndex((end) => u < end),
          )
        ]! += 1
      }
      state = reviewed(state, { counts }, ODDS)
      if (state.likeness === 'mismatched') {
        alarms += 1
        state = untested()
      }
    }
  }
  const expected = ALPHA * UPDATES * Object.keys(ALTERNATIVES).length
  expect(alarms).toBeLessThanOrEqual(expected + 3 * Math.sqrt(expected))
})

test('numbers that are not finite, or too few, are survived', () => {
  for (const weight of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
    const { bets, claims } = reviewed(untested(), { counts: [1, 2], weight }, ODDS)
    for (const wealth of [...bets, claims]) expect(Number.isFinite(wealth)).toBe(true)
  }
  const odd: Typicality = { bets: [1], claims: 0, likeness: 'unknown' }
  const { bets } = reviewed(odd, { counts: [Number.NaN] }, ODDS)
  expect(bets).toHaveLength(Object.keys(ALTERNATIVES).length)
  for (const wealth of bets) expect(Number.isFinite(wealth)).toBe(true)
})
