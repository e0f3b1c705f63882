import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import { chooseBatch, tokensIn } from '../../daemon/trainer/batch.ts'
import type { Group } from '../../protocol/train/index.ts'
import { group } from './groups.ts'

const random = randomStream(1, 'test')

test('waits for own groups, never for foreign ones', () => {
  const own = [group([1, 0]), group([1, 0])]
  const foreign = [group([1, 0], { author: 'peer' })]
  expect(chooseBatch({ own, foreign }, { own: 3, foreign: 1 }, random)).toBeUndefined()
  expect(chooseBatch({ own, foreign: [] }, { own: 2, foreign: 4 }, random)).toHaveLength(2)
  expect(chooseBatch({ own, foreign }, { own: 2, foreign: 4 }, random)).toHaveLength(3)
  expect(chooseBatch({ own, foreign }, { own: 2, foreign: 0 }, random)).toHaveLength(2)
})

test('takes the newest own groups', () => {
  const own = [1, 5, 3, 4].map((bornVersion) => group([1, 0], { bornVersion }))
  expect(
    chooseBatch({ own, foreign: [] }, { own: 2, foreign: 0 }, random)!.map((g) => g.bornVersion),
  ).toEqual([5, 4])
})

test('draws authors first: one who publishes much is not drawn more often', () => {
  const foreign = [
    ...Array.from({ length: 90 }, () => group([1, 0], { author: 'loud' })),
    ...Array.from({ length: 10 }, () => group([1, 0], { author: 'quiet' })),
  ]
  let loud = 0
  for (let i = 0; i < 400; i++) {
    const [, one] = chooseBatch({ own: [group([1, 0])], foreign }, { own: 1, foreign: 1 }, random)!
    if (one!.author === 'loud') loud++
  }
  expect(Math.abs(loud - 200)).toBeLessThan(50)
})

test('a group is not drawn twice into one batch', () => {
  const foreign = ['a', 'b'].flatMap((author) => [group([1, 0], { author }), group([1, 0], { author })])
  const drawn = chooseBatch({ own: [group([1, 0])], foreign }, { own: 1, foreign: 9 }, random)!.slice(1)
  expect(new Set(drawn.map(({ id }) => id)).size).toBe(4)
})

test('newcomers of all names have one part together, and among them whoever brought their groups', () => {
  const honest = ['a', 'b', 'c'].flatMap((author) =>
    Array.from({ length: 10 }, () => group([1, 0], { author })),
  )
  // One stranger offers what 3000 authors wrote that nobody has seen before or since.
  const lies = Array.from({ length: 3000 }, (_, i) =>
    Object.assign(group([1, 0], { author: `throw-away ${i}` }), { source: 'stranger' }),
  )
  const share = (isKnown: (author: string) => boolean) => {
    let theirs = 0
    for (let i = 0; i < 40; i++) {
      const waiting = { own: [group([1, 0])], foreign: [...lies, ...honest] }
      const batch = chooseBatch(waiting, { own: 1, foreign: 4 }, random, isKnown)!
      theirs += batch.filter(({ author }) => 'abc'.includes(author)).length
    }
    return theirs / 160
  }
  expect(share((author) => 'abc'.includes(author))).toBeGreaterThan(0.65)
  // Nobody is known yet: the stranger counts as one of four.
  expect(share(() => false)).toBeGreaterThan(0.65)
})

describe('what is drawn is bounded in tokens', () => {
  /** Two rollouts, so that it has so many tokens in all. */
  const sized = (tokens: number, author = 'me') => {
    const one = group([1, 0], { author })
    one.conditioning = new Int32Array(tokens / 4)
    for (const rollout of one.rollouts) rollout.tokens = new Int32Array(tokens / 4)
    return one
  }
  const many = (count: number, tokens: number, author: string) =>
    Array.from({ length: count }, () => sized(tokens, author))
  const own = many(4, 40, 'me')
  const draw = (foreign: Group[], count = 4) =>
    chooseBatch({ own, foreign }, { own: 4, foreign: count }, random)!.slice(4)
  const total = (groups: readonly Group[]) => groups.reduce((sum, one) => sum + tokensIn(one), 0)

  test('all together: as many as J own groups have, and half as many again', () => {
    expect(draw(many(9, 60, 'peer'))).toHaveLength(4)
    expect(draw(many(9, 80, 'peer'))).toHaveLength(3)
    expect(draw(many(9, 244, 'peer'))).toEqual([])
    expect(draw(many(9, 400, 'peer'), 16)).toHaveLength(2)
  })

  test('the longest lose first: a flood of long groups takes no place from shorter ones', () => {
    const honest = many(4, 40, 'honest')
    for (let i = 0; i < 50; i++) {
      const drawn = draw([...many(70, 200, 'loud'), ...honest])
      expect(drawn.filter(({ author }) => author === 'honest')).toHaveLength(4)
    }
  })

  test('an author has a fair share at most, or the tokens of three own groups where that is more', () => {
    for (let i = 0; i < 50; i++) {
      const crowd = ['a', 'b', 'c', 'd', 'e'].flatMap((author) => many(3, 20, author))
      const drawn = draw([...many(70, 40, 'loud'), ...many(70, 124, 'louder'), ...crowd], 8)
      expect(total(drawn.filter(({ author }) => author === 'loud'))).toBeLessThanOrEqual(120)
      expect(drawn.some(({ author }) => author === 'louder')).toBe(false)
      expect(drawn).toHaveLength(8)
    }
    // Of two authors each has a half.
    const two = draw([...many(70, 40, 'loud'), ...many(1, 40, 'quiet')], 16)
    expect(total(two.filter(({ author }) => author === 'loud'))).toBe(480)
  })
})
