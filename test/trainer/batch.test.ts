import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import { type BatchParts, type BatchSizes, chooseBatch } from '../../daemon/trainer/batch/batch.ts'
import { createPromptMix, OTHER, tokensIn } from '../../daemon/trainer/batch/prompt-mix.ts'
import type { Group } from '../../protocol/train/index.ts'
import { group } from './groups.ts'

const random = randomStream(1, 'test')

/** The batch of a node whose recent prompts are those of its waiting groups. */
function choose(
  waiting: { own: readonly Group[]; foreign: readonly Group[] },
  sizes: Partial<BatchSizes> & Pick<BatchSizes, 'own' | 'foreign'>,
  parts: Partial<BatchParts> = {},
): Group[] | undefined {
  const mix = createPromptMix()
  for (const one of waiting.own) mix.add(one)
  return chooseBatch(waiting, { due: sizes.own, mayLackOwn: false, ...sizes }, { random, mix, ...parts })
}

const many = (count: number, author: string) => Array.from({ length: count }, () => group([1, 0], { author }))

describe('when a batch is due', () => {
  test('waits for own groups and never for foreign ones, if those do not count', () => {
    const [own, foreign] = [many(2, 'me'), many(1, 'peer')]
    expect(choose({ own, foreign }, { own: 3, foreign: 1 })).toBeUndefined()
    expect(choose({ own, foreign: [] }, { own: 2, foreign: 4 })).toHaveLength(2)
    expect(choose({ own, foreign }, { own: 2, foreign: 4 })).toHaveLength(3)
    expect(choose({ own, foreign }, { own: 2, foreign: 0 })).toHaveLength(2)
  })

  test('foreign groups count what their author is worth', () => {
    const weightOf = (author: string) => ({ twin: 1, stranger: 0.5 })[author] ?? 0
    const due = (foreign: Group[]) =>
      choose({ own: many(2, 'me'), foreign }, { own: 8, foreign: 8 }, { weightOf: weightOf })?.length
    expect(due(many(5, 'twin'))).toBeUndefined()
    expect(due(many(6, 'twin'))).toBe(8)
    expect(due(many(8, 'stranger'))).toBeUndefined()
    expect(due([...many(4, 'twin'), ...many(4, 'stranger')])).toBe(10)
    expect(due(many(500, 'nobody'))).toBeUndefined()
  })

  test('groups beyond J do not count', () => {
    const drawn = (foreign: number) =>
      choose({ own: many(2, 'me'), foreign: many(90, 'twin') }, { own: 8, foreign }, { weightOf: () => 1 })
    expect([0, 1, 5].map(drawn)).toEqual([undefined, undefined, undefined])
    expect(drawn(6)).toHaveLength(8)
  })

  test('foreign groups take the place of own ones, down to the least, and own ones that are rare hold nothing up', () => {
    const drawn = (own: number, twins: number) =>
      choose(
        { own: many(own, 'me'), foreign: many(twins, 'twin') },
        { own: 16, leastOwn: 2, foreign: 14 },
        { weightOf: () => 1 },
      )?.map(({ author }) => author)
    const count = (own: number, twins: number) => {
      const authors = drawn(own, twins)
      return authors && [authors.filter((author) => author === 'me').length, authors.length]
    }
    expect(count(9, 90)).toEqual([2, 16])
    expect(count(9, 10)).toEqual([6, 16])
    expect(count(40, 0)).toEqual([16, 16])
    expect(count(1, 90)).toEqual([1, 15])
    expect(count(5, 10)).toBeUndefined()
  })

  test('newcomers among the drawn do not hold a batch up', () => {
    const waiting = { own: many(2, 'me'), foreign: [...many(6, 'twin'), ...many(6, 'new')] }
    const isTwin = (author: string) => author === 'twin'
    const parts = { weightOf: (author: string) => Number(isTwin(author)), isKnown: isTwin }
    expect(choose(waiting, { own: 8, foreign: 6 }, parts)).toHaveLength(8)
  })

  test('without any own group only where that is allowed, and never empty', () => {
    const mix = createPromptMix()
    mix.add(group([1, 1]))
    const [waiting, sizes] = [
      { own: [], foreign: many(4, 'twin') },
      { own: 4, foreign: 4, due: 4 },
    ]
    const parts = { random, mix, weightOf: () => 1 }
    expect(chooseBatch(waiting, { ...sizes, mayLackOwn: false }, parts)).toBeUndefined()
    expect(chooseBatch(waiting, { ...sizes, mayLackOwn: true }, parts)).toHaveLength(4)
    expect(
      chooseBatch({ own: [], foreign: [] }, { ...sizes, due: 0, mayLackOwn: true }, parts),
    ).toBeUndefined()
  })
})

test('takes the newest own groups', () => {
  const own = [1, 5, 3, 4].map((bornVersion) => group([1, 0], { bornVersion }))
  expect(choose({ own, foreign: [] }, { own: 2, foreign: 0 })!.map((g) => g.bornVersion)).toEqual([5, 4])
})

test('draws authors first: one who publishes much is not drawn more often', () => {
  const foreign = [...many(90, 'loud'), ...many(10, 'quiet')]
  let loud = 0
  for (let i = 0; i < 400; i++) {
    const [, one] = choose({ own: many(1, 'me'), foreign }, { own: 1, foreign: 1 })!
    if (one!.author === 'loud') loud++
  }
  expect(Math.abs(loud - 200)).toBeLessThan(50)
})

test('a group is not drawn twice into one batch', () => {
  const foreign = [...many(2, 'a'), ...many(2, 'b')]
  const drawn = choose({ own: many(1, 'me'), foreign }, { own: 1, foreign: 9 })!.slice(1)
  expect(new Set(drawn.map(({ id }) => id)).size).toBe(4)
})

test('newcomers of all names have one part together, and among them whoever brought their groups', () => {
  const honest = ['a', 'b', 'c'].flatMap((author) => many(10, author))
  // One stranger offers what 3000 authors wrote that nobody has seen before or since.
  const lies = Array.from({ length: 3000 }, (_, i) =>
    Object.assign(group([1, 0], { author: `throw-away ${i}` }), { source: 'stranger' }),
  )
  const share = (isKnown: (author: string) => boolean) => {
    let theirs = 0
    for (let i = 0; i < 40; i++) {
      const waiting = { own: many(1, 'me'), foreign: [...lies, ...honest] }
      const batch = choose(waiting, { own: 1, foreign: 4 }, { isKnown })!
      theirs += batch.filter(({ author }) => 'abc'.includes(author)).length
    }
    return theirs / 160
  }
  expect(share((author) => 'abc'.includes(author))).toBeGreaterThan(0.65)
  // Nobody is known yet: the stranger counts as one of four.
  expect(share(() => false)).toBeGreaterThan(0.65)
})

describe('foreign groups keep to what this node asks', () => {
  const asks = (task: string, difficulty: number, author = 'peer', rewards = [1, 0]): Group => {
    const one = group(rewards, { author })
    return { ...one, prompt: { ...one.prompt, task, difficulty } }
  }
  const times = (count: number, make: () => Group) => Array.from({ length: count }, make)
  const mixOf = (own: readonly Group[]) => {
    const mix = createPromptMix()
    for (const one of own) mix.add(one)
    return mix
  }
  const draw = (asked: readonly Group[], foreign: readonly Group[], count: number) => {
    const sizes = { own: 1, foreign: count, due: 1, mayLackOwn: false }
    const drawn = chooseBatch({ own: asked.slice(0, 1), foreign }, sizes, {
      random,
      mix: mixOf(asked),
    })!.slice(1)
    return Object.fromEntries(
      [...Map.groupBy(drawn, ({ prompt }) => `${prompt.task}/${prompt.difficulty}`)].map(([of, all]) => [
        of,
        all.length,
      ]),
    )
  }
  /** Three quarters addition at level 1, the rest at level 2, most without a signal. */
  const asked = [...times(75, () => asks('add', 1, 'me', [0, 0])), ...times(25, () => asks('add', 2, 'me'))]

  test('a peer cannot steer by sending one level only, nor what this node never asks', () => {
    const offered = [
      ...times(200, () => asks('add', 2)),
      ...times(200, () => asks('add', 9)),
      ...times(200, () => asks('flatter', 1)),
    ]
    // 20 · ¼ · 1.5, rounded up.
    expect(draw(asked, offered, 20)).toEqual({ 'add/2': 8 })
    const more = [...offered, ...times(200, () => asks('add', 1))]
    expect(draw(asked, more, 20)['add/2'] ?? 0).toBeLessThanOrEqual(8)
  })

  test('a quarter of a small pool is meant, not of all that a batch could hold', () => {
    const offered = [...times(10, () => asks('add', 2)), ...times(10, () => asks('add', 1))]
    expect(draw(asked, offered, 500)).toEqual({ 'add/1': 10, 'add/2': 8 })
  })

  test('a node that has hardly asked anything yet does not insist', () => {
    expect(
      draw(
        [asks('add', 1, 'me')],
        times(90, () => asks('multiply', 3)),
        20,
      ),
    ).toEqual({ 'multiply/3': 15 })
  })

  test('old prompts are forgotten', () => {
    const mix = mixOf([...times(256, () => asks('add', 1)), ...times(256, () => asks('add', 2))])
    expect([mix.stratum(asks('add', 1)), mix.most(OTHER, 100)]).toEqual([OTHER, 0])
    expect(mix.most(mix.stratum(asks('add', 2)), 100)).toBe(150)
  })
})

describe('what is drawn is bounded, whatever peers send', () => {
  const seeds = Array.from({ length: 150 }, (_, i) => i)
  test.each([0, 1, 2])('in tokens, by author, by task and level; part %d', (part) => {
    for (const seed of seeds.filter((one) => one % 3 === part)) {
      const next = randomStream(seed, 'pool')
      const upTo = (most: number) => Math.floor(next() * (most + 1))
      const sized = (author: string, most: number): Group => {
        const one = group([1, 0], { author, bornVersion: upTo(9) })
        one.conditioning = new Int32Array(1 + upTo(most))
        for (const rollout of one.rollouts) rollout.tokens = new Int32Array(1 + upTo(most))
        const prompt = { ...one.prompt, task: `task${upTo(2)}`, difficulty: upTo(2) }
        return { ...one, prompt, ...(next() < 0.5 ? { source: `source${upTo(3)}` } : {}) }
      }
      const own = Array.from({ length: upTo(20) }, () => sized('me', 30))
      const mix = createPromptMix()
      for (const one of [...own, ...Array.from({ length: upTo(40) }, () => sized('me', 30))]) mix.add(one)
      const authors = 1 + upTo(12)
      const foreign = Array.from({ length: upTo(120) }, () =>
        // Some authors send few short groups, others many long ones.
        sized(`peer${Math.floor(authors * next() ** 2)}`, next() < 0.2 ? 2000 : 30),
      )
      const sizes = { own: 1 + upTo(16), foreign: upTo(60), due: upTo(24), mayLackOwn: next() < 0.5 }
      const weightOf = (author: string) => (author.charCodeAt(author.length - 1) % 3) / 2
      const isKnown = (author: string) => author.endsWith('1') || author.endsWith('2')
      const batch = chooseBatch({ own, foreign }, sizes, { random: next, mix, weightOf, isKnown })
      const enough = own.length >= Math.max(1, sizes.due) && sizes.own >= sizes.due
      if (enough) expect(batch).toBeDefined()
      if (!batch) continue
      const mine = batch.filter(({ author }) => author === 'me')
      const theirs = batch.filter(({ author }) => author !== 'me')
      expect(mine).toHaveLength(Math.min(own.length, sizes.own))
      expect(mine.length > 0 || sizes.mayLackOwn).toBe(true)
      expect(new Set(batch).size).toBe(batch.length)
      expect(theirs.length).toBeLessThanOrEqual(sizes.foreign)
      expect(
        mine.length + theirs.reduce((sum, { author }) => sum + weightOf(author), 0),
      ).toBeGreaterThanOrEqual(sizes.due / 2)
      const tokens = (groups: readonly Group[]) => groups.reduce((sum, one) => sum + tokensIn(one), 0)
      const most = 1.5 * sizes.foreign * (mix.tokens ?? 0)
      expect(tokens(theirs)).toBeLessThanOrEqual(most)
      const authorsOf = (groups: readonly Group[]) => new Set(groups.map(({ author }) => author)).size
      const share = (groups: readonly Group[]) =>
        Math.max(most / Math.max(1, Math.min(authorsOf(groups), sizes.foreign)), 3 * (mix.tokens ?? 0))
      // Authors of long groups only do not take anything from the others' share.
      const usable = foreign.filter((one) => tokensIn(one) <= share(foreign))
      for (const [, all] of Map.groupBy(theirs, ({ author }) => author))
        expect(tokens(all)).toBeLessThanOrEqual(share(usable))
      const filling = Math.min(sizes.foreign, foreign.length)
      for (const [stratum, all] of Map.groupBy(theirs, mix.stratum))
        expect(all.length).toBeLessThanOrEqual(mix.most(stratum, filling))
    }
  })
})

describe('tokens of what is drawn', () => {
  /** Two rollouts, so that it has so many tokens in all. */
  const sized = (tokens: number, author = 'me') => {
    const one = group([1, 0], { author })
    one.conditioning = new Int32Array(tokens / 4)
    for (const rollout of one.rollouts) rollout.tokens = new Int32Array(tokens / 4)
    return one
  }
  const several = (count: number, tokens: number, author: string) =>
    Array.from({ length: count }, () => sized(tokens, author))
  const own = several(4, 40, 'me')
  const draw = (foreign: Group[], count = 4) => choose({ own, foreign }, { own: 4, foreign: count })!.slice(4)
  const total = (groups: readonly Group[]) => groups.reduce((sum, one) => sum + tokensIn(one), 0)

  test('all together: as many as J own groups have, and half as many again', () => {
    expect(draw(several(9, 60, 'peer'))).toHaveLength(4)
    expect(draw(several(9, 80, 'peer'))).toHaveLength(3)
    expect(draw(several(9, 244, 'peer'))).toEqual([])
    expect(draw(several(9, 400, 'peer'), 16)).toHaveLength(2)
  })

  test('the longest lose first: a flood of long groups takes no place from shorter ones', () => {
    const honest = several(4, 40, 'honest')
    for (let i = 0; i < 50; i++) {
      const drawn = draw([...several(70, 200, 'loud'), ...honest])
      expect(drawn.filter(({ author }) => author === 'honest')).toHaveLength(4)
    }
  })

  test('an author has a fair share at most, or the tokens of three own groups where that is more', () => {
    for (let i = 0; i < 50; i++) {
      const crowd = ['a', 'b', 'c', 'd', 'e'].flatMap((author) => several(3, 20, author))
      const drawn = draw([...several(70, 40, 'loud'), ...several(70, 124, 'louder'), ...crowd], 8)
      expect(total(drawn.filter(({ author }) => author === 'loud'))).toBeLessThanOrEqual(120)
      expect(drawn.some(({ author }) => author === 'louder')).toBe(false)
      expect(drawn).toHaveLength(8)
    }
    // Of two authors each has a half.
    const two = draw([...several(70, 40, 'loud'), ...several(1, 40, 'quiet')], 16)
    expect(total(two.filter(({ author }) => author === 'loud'))).toBe(480)
  })
})
