// The part of the engine suite about slots: gradients in named places, the algebra on them, and steps along them.

import { expect, test } from 'vitest'
import type { Engine, TrainRequest } from '../../daemon/engine/engine.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { column, mul, neg } from '../../protocol/plugin/expression/expression.ts'
import { ADAMW, randomWeights, SPEC } from '../engine/model.ts'
import { furthest, type Opener, raggedGroups, stepOf } from './engine-cases.ts'

/** Without momentum and clipping, a step's first moment is the vector itself. */
const PLAIN: TrainRequest['optimizer'] = { ...ADAMW, beta1: 0, maxGradientNorm: 1e30 }

export function describeSlots(of: () => Engine, open: Opener): void {
  const batch = (seed: number, sizes = [3, 2]) => {
    const { optimizer: _, ...request } = stepOf(raggedGroups(SPEC, seed, sizes))
    return { ...request, denominator: 20 }
  }
  const overflowing = { ...batch(2), objective: { loss: mul(neg(column('logprob')), 1e38), metrics: {} } }
  const flat = (tensors: Weights) => Object.values(tensors).flatMap((values) => [...values])
  /** What a slot holds, read by stepping along it. */
  const contentOf = async (vector: string) => {
    expect((await of().step({ along: vector, optimizer: PLAIN })).applied).toBe(true)
    return flat((await of().optimizer()).first)
  }
  const gradientOf = async (request: ReturnType<typeof batch>) => {
    await open()
    await of().gradient({ ...request, into: 'a' })
    return contentOf('a')
  }

  test('gradients of parts, added up, make the step that one batch of them all makes', async () => {
    const whole = batch(8, [3, 2, 4])
    await open()
    const one = await of().train({ ...whole, optimizer: ADAMW })
    const expected = await of().weights()
    await open()
    await of().gradient({ ...whole, sequences: whole.sequences.slice(0, 5), into: 'a' })
    await of().gradient({ ...whole, sequences: whole.sequences.slice(5), into: 'b' })
    const terms = ['a', 'b'].map((vector) => ({ vector, factor: 1 }))
    await of().combine({ into: 'a', terms })
    const { applied, norm } = await of().step({ along: 'a', optimizer: ADAMW })
    expect(applied).toBe(true)
    expect(norm).toBeCloseTo(one.gradientNorm, 4)
    for (const [name, values] of Object.entries(await of().weights()))
      expect(furthest(values, expected[name]!), name).toBeLessThan(2e-5)
    expect((await of().optimizer()).steps).toBe(1)
  })

  test('a combination may have many terms, its own slot among them, and none', async () => {
    const [a, b] = [await gradientOf(batch(1)), await gradientOf(batch(2))]
    await open()
    await of().gradient({ ...batch(1), into: 'a' })
    await of().gradient({ ...batch(2), into: 'b' })
    await of().combine({ into: 'c', terms: [{ vector: 'a', factor: 2 }] })
    await of().combine({
      into: 'b',
      terms: [
        { vector: 'a', factor: 0.5 },
        { vector: 'c', factor: -1 },
        { vector: 'b', factor: 3 },
      ],
    })
    await of().combine({ into: 'c', terms: [] })
    expect(await of().norm({ vector: 'c' })).toBe(0)
    const expected = b.map((value, i) => 3 * value - 1.5 * a[i]!)
    expect(furthest(await contentOf('b'), expected)).toBeLessThan(1e-5)
    expect((await of().vectors()).sort()).toEqual(['a', 'b', 'c'])
  })

  test('a term with factor 0 is not read, not even infinities; a vector that is not finite makes no step', async () => {
    const a = await gradientOf(batch(1))
    await open()
    await of().gradient({ ...batch(1), into: 'a' })
    await of().gradient({ ...overflowing, into: 'b' })
    await of().combine({
      into: 'b',
      terms: [{ vector: 'b', factor: 1e3 }],
    })
    expect(await of().step({ along: 'b', optimizer: PLAIN })).toMatchObject({
      applied: false,
      nonFinite: expect.any(String),
    })
    expect(await of().weights()).toEqual(randomWeights(SPEC, 1))
    expect((await of().optimizer()).steps).toBe(0)
    await of().combine({
      into: 'b',
      terms: [
        { vector: 'b', factor: 0 },
        { vector: 'a', factor: 1 },
      ],
    })
    expect(furthest(await contentOf('b'), a)).toBeLessThan(1e-6)
  })

  test('products and norms are plain, and products may be measured as the optimizer measures a gradient', async () => {
    const [a, b] = [await gradientOf(batch(1)), await gradientOf(batch(2))]
    await open()
    await of().gradient({ ...batch(1), into: 'a' })
    await of().gradient({ ...batch(2), into: 'b' })
    const inner = (x: number[], y: number[]) => x.reduce((sum, value, i) => sum + value * y[i]!, 0)
    const closeTo = (found: number, expected: number) => expect(found / expected).toBeCloseTo(1, 3)
    closeTo(await of().dot({ a: 'a', b: 'a' }), inner(a, a))
    closeTo(await of().norm({ vector: 'b' }), Math.sqrt(inner(b, b)))

    // So small a step that nothing moves; it fills the second moments.
    await of().step({ along: 'a', optimizer: { ...PLAIN, learningRate: 1e-12 } })
    const second = flat((await of().optimizer()).second)
    const metric = { beta2: PLAIN.beta2, epsilon: PLAIN.epsilon }
    const measured = b.map((value, i) => value / (Math.sqrt(second[i]! / (1 - PLAIN.beta2)) + PLAIN.epsilon))
    const size = Math.sqrt(inner(a, a) * inner(measured, measured))
    expect((await of().dot({ a: 'a', b: 'b', metric })) / size).toBeCloseTo(inner(a, measured) / size, 3)
    expect((await of().optimizer()).steps).toBe(1)
  })

  test('slots are empty after opening, and reading an empty one is refused', async () => {
    await open()
    await of().gradient({ ...batch(1), into: 'a' })
    await open()
    expect(await of().vectors()).toEqual([])
    for (const call of [
      of().dot({ a: 'a', b: 'a' }),
      of().norm({ vector: 'a' }),
      of().step({ along: 'a', optimizer: PLAIN }),
      of().combine({ into: 'b', terms: [{ vector: 'a', factor: 1 }] }),
    ])
      await expect(call).rejects.toThrow(/vector "a" holds no gradient/)
  })
}
