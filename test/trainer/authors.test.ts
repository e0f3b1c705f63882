// What is thought of a peer: are its log-probs to be believed, do its groups help, how much may it have.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import { createAuthors } from '../../daemon/trainer/sharing/authors.ts'
import { believed, type Plausibility, reviewed } from '../../daemon/trainer/sharing/plausibility.ts'

/**
 * Mean weight of a batch of tokens that a policy with one set of logits drew, as another sees them. `report` turns the
 * true log-prob into what is said.
 */
function batches(seed: number, apart: number, report: (logprob: number) => number) {
  const random = randomStream(seed, 'plausibility')
  const gumbel = (): number => -Math.log(-Math.log(random() + 1e-12) + 1e-12)
  return () => {
    let [weight, behaviour] = [0, 0]
    const TOKENS = 100
    for (let t = 0; t < TOKENS; t++) {
      const theirs = Array.from({ length: 12 }, () => 2 * gumbel())
      const ours = theirs.map((logit) => logit + apart * gumbel())
      const log = (logits: number[]): number[] => {
        const total = Math.log(logits.reduce((sum, x) => sum + Math.exp(x), 0))
        return logits.map((x) => x - total)
      }
      const [b, p] = [log(theirs), log(ours)]
      let u = random()
      const drawn = Math.max(
        0,
        b.findIndex((x) => {
          u -= Math.exp(x)
          return u < 0
        }),
      )
      const said = report(b[drawn]!)
      weight += Math.exp(Math.min(20, p[drawn]! - said)) / TOKENS
      behaviour += said / TOKENS
    }
    return { weight, behaviour, entropy: 1.5 }
  }
}

/** Batches until it is no longer believed; undefined if it always is. */
function doubtedAfter(next: ReturnType<typeof batches>, limit: number): number | undefined {
  let state: Plausibility = believed()
  for (let i = 1; i <= limit; i++) {
    state = reviewed(state, next())
    if (!state.believed) return i
  }
  return undefined
}

describe('log-probs', () => {
  test.each([
    ['the same policy', 0, (x: number) => x],
    ['another version of it', 0.3, (x: number) => x],
    ['quite another policy', 1.5, (x: number) => x],
    ['one rounded to 8 bits', 0.1, (x: number) => Math.round(x * 16) / 16],
  ])('of %s are believed for as long as they are true', (_, apart, report) => {
    for (const seed of [1, 2]) expect(doubtedAfter(batches(seed, apart, report), 120)).toBeUndefined()
  })

  test.each([
    ['half as likely', 0.7, 40],
    ['a tenth as likely', 2.3, 6],
    ['next to impossible', 10, 1],
  ])('that make tokens look %s as they were are found out', (_, less, within) => {
    expect(
      doubtedAfter(
        batches(4, 0.3, (x) => x - less),
        300,
      ),
    ).toBeLessThanOrEqual(within)
  })

  test('that are all zero are no sampler’s', () => {
    expect(
      doubtedAfter(
        batches(5, 0.3, () => 0),
        10,
      ),
    ).toBe(1)
  })

  test('are believed again only after many good batches in a row', () => {
    const honest = batches(6, 0.3, (x) => x)
    let state = reviewed(believed(), batches(6, 0.3, (x) => x - 10)())
    expect(state.believed).toBe(false)
    let needed = 0
    while (!state.believed && needed < 500) {
      state = reviewed(state, honest())
      needed += 1
    }
    expect(needed).toBeGreaterThanOrEqual(20)
    expect(needed).toBeLessThan(500)
  })
})

describe('authors', () => {
  const fill = (authors: ReturnType<typeof createAuthors>, author: string, gain: number, updates: number) =>
    Array.from({ length: updates }, (_, i) => {
      const findings = authors.observe(author, {
        gain: gain + (i % 2 === 0 ? 0.5 : -0.5),
        own: 1 + (i % 3 === 0 ? 0.2 : -0.1),
        norm: 0.5,
      })
      authors.tick()
      return findings
    }).flat()

  test('whose groups pull the other way are set aside for a while, then for longer', () => {
    const authors = createAuthors({})
    expect(fill(authors, 'good', 1, 100)).toEqual([])
    const [finding] = fill(authors, 'bad', -1, 40)
    expect(finding).toMatchObject({ author: 'bad', kind: 'set aside' })
    expect(authors.isSetAside('bad')).toBe(true)
    expect(authors.isSetAside('good')).toBe(false)
    expect(authors.contributors().find(({ peer }) => peer === 'bad')?.setAside).toMatch(/work against/)
    let updates = 0
    while (authors.isSetAside('bad')) {
      authors.tick()
      updates += 1
    }
    expect(updates).toBeLessThanOrEqual(50)
    authors.setAside('bad', 'again')
    for (let i = 0; i < 99; i++) authors.tick()
    expect(authors.isSetAside('bad')).toBe(true)
    authors.tick()
    expect(authors.isSetAside('bad')).toBe(false)
  })

  test('stay set aside over a restart', () => {
    const authors = createAuthors({})
    authors.setAside('bad', 'why')
    const again = createAuthors({ restored: authors.save() })
    expect(again.isSetAside('bad')).toBe(true)
    expect(again.save()).toEqual(authors.save())
  })

  /** Its groups bring something in each of so many updates. */
  const earn = (authors: ReturnType<typeof createAuthors>, names: readonly string[], updates = 10) => {
    for (let i = 0; i < updates; i++) {
      for (const name of names) authors.observe(name, { gain: 0.3, own: 0.3, norm: 0 })
      authors.tick()
    }
  }
  /** Mean squared norm of one that sends as much as it may, over so many updates. */
  const loudness = (authors: ReturnType<typeof createAuthors>, updates = 200) => {
    let squares = 0
    for (let i = 0; i < updates; i++) {
      const norm = authors.allowance('loud')
      authors.observe('loud', { gain: undefined, own: undefined, norm })
      squares += norm ** 2
      authors.tick()
    }
    return squares / updates
  }

  test('who alone still has something to say gets no more than a fair share among all that had', () => {
    const authors = createAuthors({})
    const others = Array.from({ length: 9 }, (_, i) => `quiet ${i}`)
    earn(authors, ['loud', ...others])
    expect(loudness(authors)).toBeLessThan(0.16)
    expect(loudness(authors)).toBeGreaterThan(0.1)
  })

  test('who never wrote anything takes nothing away from who did', () => {
    const authors = createAuthors({})
    // Whatever is connected besides; asking for what it may have makes nobody a contributor.
    earn(authors, ['loud'])
    for (let i = 0; i < 128; i++) authors.allowance(`idle ${i}`)
    authors.tick()
    authors.tick()
    expect(authors.allowance('loud')).toBe(1)
    expect(loudness(authors)).toBeGreaterThan(0.95)
  })

  test('newcomers of one update count as one, however many they are', () => {
    const authors = createAuthors({})
    earn(authors, ['loud'])
    for (let i = 0; i < 64; i++) authors.observe(`sybil ${i}`, { gain: 0.1, own: 0.3, norm: 0.1 })
    authors.observe('loud', { gain: 0.3, own: 0.3, norm: 1 })
    authors.tick()
    expect(authors.allowance('loud') ** 2).toBeCloseTo(0.75)
  })

  test('are forgotten one by one when there are too many, but not those that are set aside', () => {
    const authors = createAuthors({})
    authors.setAside('bad', 'why')
    for (let i = 0; i < 2000; i++) authors.observe(`peer ${i}`, { gain: 1, own: 1, norm: 0.1 })
    expect(authors.isSetAside('bad')).toBe(true)
    expect(authors.contributors().length).toBeLessThanOrEqual(32)
  })
})
