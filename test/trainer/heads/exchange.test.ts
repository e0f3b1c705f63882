// What a node does with the heads of peers, without loops and network.

import { describe, expect, test } from 'vitest'
import { pack } from '../../../daemon/trainer/heads/blocks.ts'
import { createHeadExchange } from '../../../daemon/trainer/heads/exchange.ts'
import type { Vector } from '../../../daemon/trainer/heads/vector.ts'

const origin = Float32Array.of(1, 1, 1, 1)
const layout = { size: 4, tensors: [{ name: 'w', at: 0, length: 4 }] }
const create = () => createHeadExchange({ layout, origin, every: 4 })
const at = (value: number): Vector => new Float32Array(4).fill(value)
const head = (author: string, value: number, learnt = { own: 8, foreign: 0 }) => ({
  ...{ author, version: 4, ...learnt },
  bytes: pack(at(value - 1)),
})
const close = (vector: Vector, value: number): void => {
  for (const one of vector) expect(one).toBeCloseTo(value, 5)
}

/** One that has made its first head and has asked. */
const asking = (value = 2) => {
  const exchange = create()
  exchange.make({ version: 4, weights: at(value) })
  exchange.ask(at(value))
  return exchange
}

describe('when', () => {
  test('the first head is due at once, the next one after so many steps', () => {
    const exchange = create()
    expect(exchange.isDue(0)).toBe(true)
    exchange.make({ version: 0, weights: at(1) })
    expect(exchange.isDue(3)).toBe(false)
    expect(exchange.isDue(4)).toBe(true)
  })

  test('nothing is joined before all that was asked for has arrived', () => {
    const exchange = asking()
    exchange.take(head('a', 4))
    expect(exchange.isReady).toBe(false)
    exchange.complete()
    expect(exchange.isReady).toBe(true)
  })

  test('where no head has arrived there is nothing to join, and one may ask again', () => {
    const exchange = asking()
    exchange.complete()
    expect(exchange.isReady).toBe(false)
    expect(exchange.isAsking).toBe(false)
  })
})

describe('joining', () => {
  test('gives the mean of own weights and heads', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.take(head('b', 4))
    close(exchange.join(at(2)).weights, 3)
  })

  test('keeps what was learnt since the heads were asked for', () => {
    const exchange = asking()
    exchange.take(head('a', 2))
    close(exchange.join(at(2.5)).weights, 2.5)
  })

  test('a head that is far away moves a node at most four times as far as its own steps', () => {
    const exchange = asking()
    exchange.take(head('a', 1001))
    const { weights, heads } = exchange.join(at(2))
    close(weights, 2 + 4 / 2)
    expect(heads).toMatchObject([{ author: 'a', isClipped: true }])
  })

  test('only the newest head of a peer counts', () => {
    const exchange = asking()
    exchange.take(head('a', 100))
    exchange.take(head('a', 3))
    close(exchange.join(at(2)).weights, 2.5)
  })

  test('a head is joined once', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.complete()
    exchange.join(at(2))
    expect(exchange.isReady).toBe(false)
  })
})

describe('refused', () => {
  test('a head of another size', () => {
    expect(asking().take({ ...head('a', 3), bytes: pack(new Float32Array(5)) })).toBe(false)
  })

  test('a head with values beyond a float', () => {
    const exchange = createHeadExchange({ layout, origin: at(3e38), every: 4 })
    exchange.ask(at(3e38))
    expect(exchange.take({ ...head('a', 3), bytes: pack(at(3e38)) })).toBe(false)
  })

  test('a head that comes too late', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.complete()
    expect(exchange.take(head('b', 3))).toBe(false)
  })

  test('one that is malformed costs the others nothing', () => {
    const exchange = asking()
    exchange.take({ ...head('a', 3), bytes: new Uint8Array(3) })
    exchange.take(head('b', 4))
    close(exchange.join(at(2)).weights, 3)
  })

  test('what waited when the weights went back to a checkpoint', () => {
    const exchange = asking()
    exchange.take(head('a', 3))
    exchange.reset()
    exchange.complete()
    expect(exchange.isReady).toBe(false)
  })
})

describe('catching up', () => {
  test('a peer with far more work behind its weights is ahead', () => {
    const exchange = asking(1)
    exchange.take(head('a', 3, { own: 50, foreign: 0 }))
    exchange.take(head('b', 4, { own: 30, foreign: 300 }))
    expect(exchange.ahead({ own: 2, foreign: 0 })).toMatchObject({ author: 'b' })
  })

  test('one that has done about as much is not', () => {
    const exchange = asking(1)
    exchange.take(head('a', 3, { own: 150, foreign: 0 }))
    expect(exchange.ahead({ own: 100, foreign: 0 })).toBeUndefined()
  })
})

test('what rounding loses in one head is in the next', () => {
  const exchange = create()
  const weights = Float32Array.of(2, 1.001, 1.001, 1.001)
  const sums = new Float64Array(4)
  for (let i = 0; i < 100; i++) {
    const bytes = new Int8Array(exchange.make({ version: 4 * i, weights }).buffer, 4)
    for (let j = 0; j < 4; j++) sums[j]! += bytes[j]! / 127
  }
  expect(sums[1]! / 100).toBeCloseTo(0.001, 4)
})
