// What a node does with the heads of peers, without loops and network.

import { describe, expect, test } from 'vitest'
import { pack } from '../../../daemon/trainer/heads/blocks.ts'
import { createHeadExchange } from '../../../daemon/trainer/heads/exchange.ts'
import type { Vector } from '../../../daemon/trainer/heads/vector.ts'

const origin = Float32Array.of(1, 1, 1, 1)
const layout = { size: 4, tensors: [{ name: 'w', at: 0, length: 4 }] }
const create = (options: { isFollowed?(): boolean } = {}) =>
  createHeadExchange({
    ...options,
    layout,
    origin: () => origin,
    every: 4,
    learningRate: () => 1e-3,
    batchGroups: () => 8,
  })
const at = (value: number): Vector => new Float32Array(4).fill(value)
const head = (author: string, value: number, learnt = { own: 8, foreign: 0 }) => ({
  ...{ author, version: 4, hash: author, ...learnt },
  bytes: pack(at(value - 1)),
})
const judging = ({ isSuspect = false, mayFollow = true, isLeft = false } = {}) => ({
  isSuspect: () => isSuspect,
  mayFollow: () => mayFollow,
  isLeft: () => isLeft,
})
const close = (vector: Vector, value: number): void => {
  for (const one of vector) expect(one).toBeCloseTo(value, 5)
}

/** One that has moved by 4, has made its head and has asked these peers. */
const asking = (peers: readonly string[] = ['a', 'b'], value = 2) => {
  const exchange = create()
  exchange.make({ version: 0, weights: at(value - 4), at: 0 })
  exchange.make({ version: 4, weights: at(value), at: 0 })
  exchange.ask(peers, at(value))
  return exchange
}
const joined = (exchange: ReturnType<typeof create>, value = 2, version = 4) =>
  exchange.join({ version, weights: at(value), learnt: { own: 8, foreign: 0 } })

describe('when', () => {
  test('the first head is due at once, the second after a step, and each further one after so many', () => {
    const exchange = create()
    expect(exchange.isDue(0)).toBe(true)
    exchange.make({ version: 0, weights: at(1), at: 0 })
    expect(exchange.isDue(0)).toBe(false)
    expect(exchange.isDue(1)).toBe(true)
    exchange.make({ version: 1, weights: at(2), at: 0 })
    expect(exchange.isDue(4)).toBe(false)
    expect(exchange.isDue(5)).toBe(true)
  })

  test('a node whose groups teach it nothing asks after as many as four steps take', () => {
    const exchange = create()
    exchange.make({ version: 0, weights: at(1), at: 0 })
    for (let i = 0; i < 31; i++) exchange.wrote()
    expect(exchange.isDue(0)).toBe(false)
    exchange.wrote()
    expect(exchange.isDue(0)).toBe(true)
    exchange.make({ version: 0, weights: at(1), at: 0 })
    expect(exchange.isDue(0)).toBe(false)
  })

  test('heads that are always there before the next own one is made do not hide how far own steps lead', () => {
    const exchange = create()
    exchange.make({ version: 0, weights: at(1), at: 0 })
    exchange.ask(['a'], at(1))
    exchange.take(head('a', 1.003))
    const { weights } = joined(exchange, 1.001, 1)
    exchange.make({ version: 1, weights, at: 0 })
    expect([2, 3, 4, 5].filter(exchange.isDue)).toEqual([5])
    // Four steps like the first lead 0.004 far, and a head counts as one twice so far away, shared by three nodes.
    exchange.ask(['b'], weights)
    exchange.take(head('b', 5))
    close(joined(exchange, 1.002, 2).weights, 1.002 + 0.008 / 3)
  })

  describe('an older head', () => {
    /** Where a and this node were, 1.002, in steps of 0.001; then this node alone went on, to 1.006 a second later. */
    const aSecondLater = (options: { isFollowed?(): boolean } = {}) => {
      const exchange = create(options)
      exchange.make({ version: 0, weights: at(1), at: 0 })
      exchange.ask(['a'], at(1))
      exchange.take(head('a', 1.004))
      exchange.answered('a')
      close(joined(exchange, 1, 0).weights, 1.002)
      exchange.make({ version: 4, weights: at(1.006), at: 1000 })
      exchange.ask(['a'], at(1.006))
      return exchange
    }

    test('does not pull back what this node has learnt since', () => {
      const exchange = aSecondLater()
      exchange.take({ ...head('a', 1.002), age: 900 })
      close(joined(exchange, 1.006).weights, 1.006)
    })

    test('that is nearer to now is compared with what this node has now', () => {
      const exchange = aSecondLater()
      exchange.take({ ...head('a', 1.002), age: 400 })
      close(joined(exchange, 1.006).weights, 1.004)
    })

    test('is compared with what this node has now where others follow its steps', () => {
      const exchange = aSecondLater({ isFollowed: () => true })
      exchange.take({ ...head('a', 1.002), age: 900 })
      close(joined(exchange, 1.006).weights, 1.004)
    })

    test('is compared with what this node has now after a roll-back', () => {
      const exchange = aSecondLater()
      exchange.reset()
      exchange.make({ version: 2, weights: at(1.006), at: 2000 })
      exchange.ask(['a'], at(1.006))
      exchange.take({ ...head('a', 1.002), age: 900 })
      close(joined(exchange, 1.006, 2).weights, 1.004)
    })
  })

  test('a head can be joined without waiting for other peers', () => {
    const exchange = asking()
    exchange.take(head('a', 4))
    expect(exchange.isReady).toBe(true)
  })

  test('a peer that has not answered is not asked again', () => {
    const exchange = asking(['a', 'b'])
    exchange.answered('b')
    expect(exchange.ask(['a', 'b', 'c'], at(3))).toEqual(['b', 'c'])
  })
})

describe('joining', () => {
  test('a node without a step of its own learns from peers, as far as its steps could lead', () => {
    const exchange = create()
    exchange.make({ version: 0, weights: at(1), at: 0 })
    exchange.ask(['a', 'b'], at(1))
    // Four steps at 1e-3 lead each of four values 4e-3 away, and a head counts as one twice so far away.
    exchange.take(head('a', 1.004))
    exchange.take(head('b', 5))
    const { weights, heads } = joined(exchange, 1, 0)
    close(weights, 1 + (0.004 + 0.008) / 3)
    expect(heads.map(({ isClipped }) => isClipped)).toEqual([false, true])
  })

  test('a peer counts once among the nodes, however often its heads come between two steps', () => {
    const exchange = asking(['a'])
    for (let i = 0; i < 5; i++) {
      exchange.take(head('a', 2))
      joined(exchange)
    }
    expect(exchange.nodesAt(4)).toBe(2)
  })

  test('gives the mean of own weights and heads', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.take(head('b', 4))
    close(joined(exchange).weights, 3)
  })

  test('keeps what was learnt since the heads were asked for', () => {
    const exchange = asking()
    exchange.take(head('a', 2))
    close(joined(exchange, 2.5).weights, 2.5)
  })

  test('a head that comes alone has the weight that it has among all', () => {
    const exchange = asking()
    exchange.take(head('a', 2))
    exchange.take(head('b', 2))
    joined(exchange)
    exchange.take(head('a', 5))
    close(joined(exchange).weights, 3)
  })

  test('a peer that has sent nothing for long no longer counts', () => {
    const exchange = asking()
    exchange.take(head('a', 2))
    exchange.take(head('b', 2))
    joined(exchange)
    exchange.take(head('a', 5))
    close(joined(exchange, 2, 100).weights, 3.5)
  })

  test('a head twice as far away as own steps lead counts whole, as those of nodes that learn together do', () => {
    const exchange = asking()
    exchange.take(head('a', 9.9))
    close(joined(exchange).weights, 2 + 7.9 / 2)
  })

  test('a head that is far away counts as one twice as far away as own steps lead', () => {
    const exchange = asking()
    exchange.take(head('a', 101))
    const { weights, heads } = joined(exchange)
    close(weights, 2 + 8 / 2)
    expect(heads).toMatchObject([{ author: 'a', isClipped: true }])
  })

  test('after one step a head may be as far away as after the steps between two heads', () => {
    const exchange = create()
    exchange.make({ version: 0, weights: at(1), at: 0 })
    exchange.make({ version: 1, weights: at(1.25), at: 0 })
    exchange.ask(['a'], at(1.25))
    exchange.take(head('a', 101))
    expect(exchange.apart({ own: 8, foreign: 0 }, judging())).toEqual([])
    close(joined(exchange, 1.25, 1).weights, 1.25 + 2 / 2)
  })

  test('a member whose head is suddenly far away is tried, and those that are near are joined', () => {
    const exchange = asking()
    for (const value of [3, 101]) {
      exchange.take(head('a', value))
      exchange.take(head('b', 3))
      const tried = exchange.apart({ own: 8, foreign: 0 }, judging())
      expect(tried.map(({ author }) => author)).toEqual(value === 3 ? [] : ['a'])
      expect(joined(exchange).heads.map(({ author }) => author)).toEqual(value === 3 ? ['a', 'b'] : ['b'])
    }
  })

  test('suspects are to be tried, and not joined', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.take(head('b', 3))
    const tried = exchange.apart({ own: 8, foreign: 0 }, judging({ isSuspect: true }))
    expect(tried.map(({ author }) => author)).toEqual(['a', 'b'])
    expect(exchange.isReady).toBe(false)
  })

  test('only the newest head of a peer counts', () => {
    const exchange = asking()
    exchange.take(head('a', 100))
    exchange.take(head('a', 3))
    close(joined(exchange).weights, 2.5)
  })

  test('a head is joined once', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    joined(exchange)
    expect(exchange.isReady).toBe(false)
  })
})

describe('at the first meeting', () => {
  const meeting = (version: number, value: number) => {
    const exchange = create()
    exchange.make({ version, weights: at(1), at: 0 })
    exchange.ask(['a'], at(1))
    exchange.take(head('a', value))
    return exchange
  }
  const tried = (exchange: ReturnType<typeof create>, isSuspect = false) =>
    exchange.apart({ own: 8, foreign: 0 }, judging({ isSuspect })).map(({ author }) => author)

  test('a peer that is suspect is tried', () => {
    expect(tried(meeting(100, 1.001), true)).toEqual(['a'])
  })

  test('a peer that is suspect is tried by a node without a step, too', () => {
    expect(tried(meeting(0, 1.001), true)).toEqual(['a'])
  })

  test('a peer that is farther away than steps of this node could lead is tried', () => {
    expect(tried(meeting(100, 5))).toEqual(['a'])
  })

  test('a peer that is near is joined at once', () => {
    expect(tried(meeting(100, 1.004))).toEqual([])
  })

  test('a peer with which the node begins is joined at once, wherever it is', () => {
    expect(tried(meeting(3, 5))).toEqual([])
  })

  test('a peer that is far from a node of some steps is tried, though that has just made its first heads', () => {
    const exchange = meeting(4, 101)
    exchange.make({ version: 5, weights: at(1.25), at: 0 })
    expect(tried(exchange)).toEqual(['a'])
  })
})

describe('after a long time alone', () => {
  /** It averaged with a, and then made 900 steps to 92 with nobody there. */
  const alone = () => {
    const exchange = asking(['a'])
    exchange.take(head('a', 2))
    joined(exchange)
    exchange.answered('a')
    exchange.make({ version: 904, weights: at(92), at: 0 })
    exchange.ask(['a'], at(92))
    return exchange
  }

  test('a peer that has drifted apart is tried before it is joined', () => {
    const exchange = alone()
    exchange.take(head('a', 2))
    expect(exchange.apart({ own: 8, foreign: 0 }, judging())).toMatchObject([{ author: 'a' }])
  })

  test('a head moves a node as far as four of its steps, not as all', () => {
    const exchange = alone()
    exchange.take(head('a', 2))
    // Four of the 900 steps that lead from 2 to 92 lead 0.4 far.
    close(joined(exchange, 92, 904).weights, 92 - 0.8 / 2)
  })
})

describe('how many learn together', () => {
  test('is one more than the heads that come for each own one', () => {
    const exchange = asking()
    expect(exchange.nodesAt(4)).toBe(1)
    exchange.take(head('a', 3))
    exchange.take(head('b', 3))
    joined(exchange)
    expect(exchange.nodesAt(4)).toBe(3)
  })

  test('falls where heads come seldom, and to one where none come any more', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.take(head('b', 3))
    joined(exchange)
    expect(exchange.nodesAt(32)).toBe(1 + 2 / 8)
    expect(exchange.nodesAt(36)).toBe(1)
  })

  test('falls at once where peers are members no more', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.take(head('b', 3))
    joined(exchange)
    exchange.dismiss(['a'])
    expect(exchange.nodesAt(4)).toBe(2)
  })
})

describe('refused', () => {
  test('a head of another size', () => {
    expect(asking().take({ ...head('a', 3), bytes: pack(new Float32Array(5)) })).toBe('malformed')
  })

  test('a head with values beyond a float', () => {
    const exchange = createHeadExchange({
      layout,
      origin: () => at(3e38),
      every: 4,
      learningRate: () => 1e-3,
      batchGroups: () => 8,
    })
    exchange.ask(['a'], at(3e38))
    expect(exchange.take({ ...head('a', 3), bytes: pack(at(3e38)) })).toBe('malformed')
  })

  test('a head that is absurdly far away', () => {
    expect(asking(['a'], 1).take(head('a', 1001))).toBe('malformed')
  })

  test('a head that was not asked for', () => {
    expect(asking(['a']).take(head('b', 3))).toBe('late')
  })

  test('one that is malformed costs the others nothing', () => {
    const exchange = asking()
    exchange.take({ ...head('a', 3), bytes: new Uint8Array(3) })
    exchange.take(head('b', 4))
    close(joined(exchange).weights, 3)
  })

  test('what waited, and what is on its way, when the weights went back to a checkpoint', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.reset()
    expect(exchange.isReady).toBe(false)
    expect(exchange.take(head('b', 3))).toBe('late')
  })
})

describe('a peer that failed an audit', () => {
  test('does not count with what waited, nor with what is on its way; others do', () => {
    const exchange = asking(['a', 'b', 'c'])
    exchange.take(head('a', 3))
    exchange.take(head('c', 4))
    exchange.dismiss(['a', 'b'])
    expect(exchange.take(head('b', 3))).toBe('late')
    expect(joined(exchange).heads.map(({ author }) => author)).toEqual(['c'])
  })
})

describe('catching up', () => {
  test('a peer far away with far less work behind its weights does not pull this node back', () => {
    const exchange = asking()
    exchange.take(head('a', -11, { own: 0, foreign: 0 }))
    const weights = at(2)
    const { heads, ...joined } = exchange.join({ version: 4, weights, learnt: { own: 100, foreign: 0 } })
    close(joined.weights, 2)
    expect(heads).toEqual([])
  })

  test('a near peer is joined, however much work this node is told to have behind its weights', () => {
    const exchange = asking()
    exchange.take(head('a', 1, { own: 20, foreign: 0 }))
    const { heads } = exchange.join({ version: 4, weights: at(2), learnt: { own: 20, foreign: 2 ** 40 } })
    expect(heads).toHaveLength(1)
  })

  test('a peer with far more work behind its weights is ahead', () => {
    const exchange = asking(['a', 'b'], 1)
    exchange.take(head('a', 20, { own: 50, foreign: 0 }))
    exchange.take(head('b', 25, { own: 30, foreign: 300 }))
    expect(exchange.ahead({ own: 2, foreign: 0 }, judging())[0]).toMatchObject({ author: 'b' })
  })

  test('one that is near is joined, whatever it says of its work', () => {
    const exchange = asking(['a'])
    exchange.take(head('a', 3, { own: 2 ** 40, foreign: 0 }))
    expect(exchange.ahead({ own: 2, foreign: 0 }, judging())).toEqual([])
    expect(joined(exchange).heads).toHaveLength(1)
  })

  test('one that has done about as much is not', () => {
    const exchange = asking(['a'], 1)
    exchange.take(head('a', 3, { own: 150, foreign: 0 }))
    expect(exchange.ahead({ own: 100, foreign: 0 }, judging({ mayFollow: false }))).toEqual([])
  })

  test('one that is far away is, with any more work, if this node may follow it', () => {
    const isAhead = (own: number, mayFollow: boolean): boolean => {
      const exchange = asking(['a'])
      exchange.take(head('a', 15, { own, foreign: 0 }))
      return exchange.ahead({ own: 100, foreign: 0 }, judging({ mayFollow })).length > 0
    }
    expect(isAhead(101, true)).toBe(true)
    expect(isAhead(101, false)).toBe(false)
    expect(isAhead(100, true)).toBe(false)
  })

  test('one that is ahead is not joined', () => {
    const exchange = asking(['a', 'b'], 1)
    exchange.take(head('a', 20, { own: 50, foreign: 0 }))
    exchange.take(head('b', 25, { own: 30, foreign: 300 }))
    exchange.ahead({ own: 2, foreign: 0 }, judging())
    expect(exchange.isReady).toBe(false)
  })

  test('one that is far away and to be left is neither tried nor averaged', () => {
    const triedOf = (isLeft: boolean): number => {
      const exchange = asking(['a'])
      exchange.take(head('a', 15, { own: 99, foreign: 0 }))
      const tried = exchange.apart({ own: 100, foreign: 0 }, judging({ isLeft }))
      expect(exchange.isReady).toBe(false)
      return tried.length
    }
    expect([triedOf(true), triedOf(false)]).toEqual([0, 1])
  })
})

test('what rounding loses in one head is in the next', () => {
  const exchange = create()
  const weights = Float32Array.of(2, 1.001, 1.001, 1.001)
  const sums = new Float64Array(4)
  for (let i = 0; i < 100; i++) {
    const bytes = new Int8Array(exchange.make({ version: 4 * i, weights, at: 0 }).buffer, 4)
    for (let j = 0; j < 4; j++) sums[j]! += bytes[j]! / 127
  }
  expect(sums[1]! / 100).toBeCloseTo(0.001, 4)
})
