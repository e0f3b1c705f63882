import { describe, expect, test } from 'vitest'
import { FairQueue } from '../../protocol/fair-queue.ts'

/** Items are named after their owners. */
function filled(names: string, options: ConstructorParameters<typeof FairQueue>[0]) {
  const queue = new FairQueue<string>(options)
  const dropped = names.split(' ').flatMap((name) => queue.push(name[0]!, name, 10))
  const taken = (): string[] => {
    const all: string[] = []
    for (let item = queue.take(); item !== undefined; item = queue.take()) all.push(item)
    return all
  }
  return { queue, dropped, taken }
}

describe('a fair queue', () => {
  test('lets owners take turns, each with its oldest item', () => {
    expect(filled('a1 a2 a3 b1 c1 b2', { items: 9, first: 'oldest' }).taken()).toEqual([
      ...['a1', 'b1', 'c1', 'a2', 'b2', 'a3'],
    ])
  })

  test('lets owners take turns, each with its newest item', () => {
    expect(filled('a1 a2 a3 b1 b2', { items: 9, first: 'newest' }).taken()).toEqual([
      ...['a3', 'b2', 'a2', 'b1', 'a1'],
    ])
  })

  test('drops the oldest item of the owner with the most when there are too many', () => {
    const { queue, dropped } = filled('a1 m1 m2 b1 m3 m4 b2', { items: 4, first: 'newest' })
    expect([dropped, [...queue].sort(), queue.length]).toEqual([
      ['m1', 'm2', 'm3'],
      ['a1', 'b1', 'b2', 'm4'],
      4,
    ])
  })

  test('drops items until their sizes fit, the new one as well if it has to', () => {
    const { queue, dropped } = filled('a1 a2 b1', { items: 9, size: 25, first: 'oldest' })
    expect(dropped).toEqual(['a1'])
    expect([queue.push('c', 'huge', 30), queue.length]).toEqual([['a2', 'b1', 'huge'], 0])
  })

  test('gives all back when it is cleared', () => {
    const { queue } = filled('a1 b1 a2', { items: 9, first: 'oldest' })
    expect([queue.clear(), queue.length, queue.take()]).toEqual([['a1', 'a2', 'b1'], 0, undefined])
  })
})
