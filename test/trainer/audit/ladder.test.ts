// Whose steps are a chain, and what passed draws make a stranger's weights count for.

import { describe, expect, test } from 'vitest'
import { type ChainStep, checkLink, readChain } from '../../../daemon/trainer/audit/chain.ts'
import { createLadder } from '../../../daemon/trainer/audit/ladder.ts'
import { createOwnHeads } from '../../../daemon/trainer/audit/own-heads.ts'
import { bytesOf, hashOf } from '../../../daemon/trainer/audit/state.ts'
import { pack } from '../../../daemon/trainer/heads/blocks.ts'
import { join } from '../../../daemon/trainer/heads/join.ts'
import { EDGES, oddsOf, uncalibrated } from '../../../daemon/trainer/sharing/typicality.ts'
import type { Receipt, ReceiptStep, StateHashes } from '../../../protocol/wire/index.ts'
import { receipt as described } from '../../protocol/wire/receipts.ts'

const hash = (text: string): string => hashOf(Buffer.from(text))
const stateAt = (steps: number, name = 'own'): StateHashes => ({
  ...{ steps, weights: hash(`${name} ${steps}`), moments: hash(`moments ${name} ${steps}`) },
})
const first = stateAt(0, 'first')
const step = (at: number, more: Partial<ReceiptStep> = {}): ReceiptStep => ({
  version: at,
  before: at === 0 ? first : stateAt(at),
  after: stateAt(at + 1),
  ...{ groups: [], batch: { hash: hash('batch'), size: 9 }, joined: [], ...more },
})
const stepsFrom = (from: number, count = 4) => Array.from({ length: count }, (_, i) => step(from + i))
const receipt = (steps: ReceiptStep[], author = 'a'): Receipt => ({ ...described, author, steps })

const HEAD = hash('a head of this node')
const head = (share = 0.5) => ({ author: 'me', hash: HEAD, added: { share, beside: stateAt(2).weights } })
/** The third step begins with other weights than the second ended with. */
const afterJoin = (joined: ReceiptStep['joined']) => [
  ...stepsFrom(0, 2),
  step(2, { before: { ...stateAt(2), weights: hash('averaged') }, joined }),
]
const read = (steps: ReceiptStep[]) => readChain({ steps }, [first], (one) => one === HEAD)

describe('a chain', () => {
  test('goes from the first values on, also over averages with heads that this node has', () => {
    expect(read(stepsFrom(0))).toMatchObject({ steps: { length: 4 } })
    expect(read(afterJoin([head()]))).toMatchObject({
      steps: [{ step: step(0) }, { step: step(1) }, { from: stateAt(2) }],
    })
  })

  test.each<[string, ReceiptStep[], string]>([
    ['begins elsewhere', stepsFrom(3), 'does not know'],
    ['has a gap', [step(0), step(2)], 'does not know'],
    ['has other moments', [step(0), step(1, { before: { ...stateAt(1), moments: hash('x') } })], 'not know'],
    ['has weights that were replaced', afterJoin([]), 'replaced'],
    ['averaged an unknown head', afterJoin([{ ...head(), hash: hash('x') }]), 'does not have'],
    ['does not say how it averaged', afterJoin([{ author: 'me', hash: HEAD }]), 'does not say'],
    ['added more than a head', afterJoin([head(1.5)]), 'does not say'],
    ['went the other way', afterJoin([head(-0.5)]), 'does not say'],
    ['has a step that nobody can compute', [step(0, { closed: 'a hint' })], 'a hint'],
  ])('that %s is broken', (_, steps, why) => {
    expect(read(steps)).toMatchObject({ broken: expect.stringContaining(why) })
  })
})

describe('an average between two steps', () => {
  const origin = Float32Array.from({ length: 200 }, (_, i) => Math.cos(i))
  const heads = createOwnHeads({ origin: () => origin })
  const bytes = pack(origin.map((value) => 0.3 * value))
  heads.add(bytes)
  const [own, beside] = [1.2, 1.1].map((factor) => origin.map((value) => factor * value)) as [
    Float32Array,
    Float32Array,
  ]
  const of = (weights: Float32Array): string => hashOf(bytesOf(weights))
  const theirs = heads.get(hashOf(bytes))!
  const { weights: averaged } = join(own, [{ weights: () => theirs, beside, apart: 0 }], {
    nodes: 3,
    farthest: 1e9,
  })
  const link = (share: number, weights = averaged, of_ = beside): ChainStep => ({
    from: { ...stateAt(1), weights: of(own) },
    step: step(1, {
      before: { ...stateAt(1), weights: of(weights) },
      joined: [{ author: 'me', hash: hashOf(bytes), added: { share, beside: of(of_) } }],
    }),
  })
  const served = new Map([own, beside, averaged].map((one) => [of(one), one]))
  const check = (one: ChainStep, isKnown = true) =>
    checkLink(one, { weights: async (name) => served.get(name), head: heads.get, isKnown: () => isKnown })

  test('is computed again to the bit', async () => {
    expect(await check(link(1 / 3))).toBeUndefined()
  })

  test.each([
    ['has another share', link(0.3)],
    ['gives other weights', link(1 / 3, theirs)],
  ])('that %s is none', async (_, one) => {
    expect(await check(one)).toContain('not the average')
  })

  test('was compared with weights of the chain, or it proves nothing', async () => {
    expect(await check(link(1 / 3), false)).toContain('do not come')
  })
})

const like = { counts: [0, 1].flatMap(() => EDGES.map((edge, i) => 4000 * (edge - (EDGES[i - 1] ?? 0)))) }
const planted = { counts: [0, 1].flatMap(() => EDGES.map(() => 300)) }

describe('the ladder', () => {
  const open = () =>
    createLadder(
      { first },
      { hasHead: (one) => one === HEAD, odds: () => oddsOf(uncalibrated()), random: () => 0.5 },
    )
  const climb = (ladder: ReturnType<typeof open>, draws: number, { author = 'a', evidence = like } = {}) => {
    for (let i = 0; i < draws; i++) {
      const told = receipt(stepsFrom(4 * i), author)
      expect(ladder.look(told, () => true, 0)).toMatchObject({ drawn: { step: { version: 4 * i + 2 } } })
      ladder.passed(told, evidence)
    }
  }

  test('counts nothing at first, and then what draws cannot rule out less', () => {
    const ladder = open()
    climb(ladder, 4)
    expect(ladder.weight('a')).toBe(0)
    const one = open()
    climb(one, 5)
    expect(one.weight('a')).toBeCloseTo(0.398, 3)
    const many = open()
    climb(many, 50)
    expect(many.weight('a')).toBeCloseTo(0.912, 3)
  })

  test('gives all strangers together what one would have', () => {
    const ladder = open()
    for (const author of ['a', 'b']) climb(ladder, 50, { author })
    expect(2 * ladder.weight('b')).toBeCloseTo(0.912, 3)
  })

  test('counts nothing of a stranger whose answers its policy did not write', () => {
    const ladder = open()
    climb(ladder, 50, { evidence: planted })
    expect(ladder.list()).toMatchObject([{ author: 'a', likeness: 'mismatched', weight: 0 }])
  })

  test('has nothing left after a broken chain, which is not looked at again for ten minutes', () => {
    const ladder = open()
    climb(ladder, 50)
    expect(ladder.look(receipt(stepsFrom(900)), () => true, 1000)).toMatchObject({
      broken: expect.any(String),
    })
    expect([ladder.weight('a'), ladder.list()]).toEqual([0, []])
    expect(ladder.next(['a'], 500_000)).toBeUndefined()
    expect(ladder.next(['a'], 700_000)).toBe('a')
  })

  test('goes on over looks that are not drawn, from the first values on, and these earn nothing', () => {
    const ladder = open()
    for (const at of [0, 4, 8, 12]) expect(ladder.look(receipt(stepsFrom(at)), () => false, 0)).toBe('seen')
    expect(ladder.list()).toMatchObject([{ author: 'a', passed: 0, weight: 0 }])
    expect(ladder.look(receipt(stepsFrom(16)), () => true, 0)).toMatchObject({ drawn: {} })
    expect(ladder.look(receipt(stepsFrom(40)), () => false, 0)).toMatchObject({ broken: expect.any(String) })
  })

  test.each([
    [2, 1],
    [5, 2],
    [16, 4],
  ])('where a receipt holds %i steps, draws from %i new ones', (most, least) => {
    const ladder = createLadder(
      { first, most },
      { hasHead: () => false, odds: () => oddsOf(uncalibrated()), random: () => 0 },
    )
    if (least > 1) expect(ladder.look(receipt(stepsFrom(0, least - 1)), () => true, 0)).toBe('waits')
    expect(ladder.look(receipt(stepsFrom(0, least)), () => true, 0)).toMatchObject({ drawn: {} })
  })

  test('waits for enough new steps', () => {
    const ladder = open()
    climb(ladder, 1)
    expect(ladder.look(receipt(stepsFrom(3, 4)), () => true, 0)).toBe('waits')
  })

  test('looks at all in turn, and at no more than it can', () => {
    const ladder = open()
    for (const author of ['a', 'b']) climb(ladder, 1, { author })
    const seen = Array.from({ length: 4 }, () => ladder.next(['a', 'b', 'new'], 0))
    expect(seen).toEqual(['a', 'b', 'a', 'b'])
  })
})
