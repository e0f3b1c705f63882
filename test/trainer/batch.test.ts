import { expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import { chooseBatch } from '../../daemon/trainer/batch.ts'
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
