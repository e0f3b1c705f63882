// The part of the engine suite that puts a step together from several gradients.

import { expect, test } from 'vitest'
import type { Engine, TrainRequest } from '../../daemon/engine/engine.ts'
import { column, mul, neg } from '../../protocol/plugin/expression.ts'
import { ADAMW, randomWeights, SPEC } from '../engine/model.ts'
import { furthest, type Opener, raggedGroups, stepOf } from './engine-cases.ts'

/** No clipping, so that a step's first moment is the gradient itself. */
const PLAIN: TrainRequest['optimizer'] = { ...ADAMW, beta1: 0, maxGradientNorm: 1e30 }

export function describeMixture(of: () => Engine, open: Opener): void {
  const batch = (seed: number, sizes = [3, 2]) => {
    const { optimizer: _, ...request } = stepOf(raggedGroups(SPEC, seed, sizes))
    return { ...request, denominator: 20 }
  }
  /** What the last step descended along. */
  const direction = async () => Object.values((await of().optimizer()).first).flatMap((values) => [...values])
  const norm = (values: number[]) => Math.hypot(...values)
  const gradientOf = async (request: Omit<TrainRequest, 'optimizer'>) => {
    await open()
    await of().train({ ...request, optimizer: PLAIN })
    return direction()
  }
  const descend = (sideLimit: number) => of().descend({ optimizer: PLAIN, sideLimit, compassDecay: 0.5 })

  test('parts that are kept whole give the step that one batch of them all gives', async () => {
    const whole = batch(8, [3, 2, 4])
    await open()
    const one = await of().train({ ...whole, optimizer: ADAMW })
    const expected = await of().weights()
    await open()
    for (const sequences of [whole.sequences.slice(0, 5), whole.sequences.slice(5)]) {
      const report = await of().gradient({ ...whole, sequences })
      expect(report.gradientNorm).toBeGreaterThan(0)
      expect(report.along).toBeUndefined()
      await of().keep({ to: 'main', scale: 1 })
    }
    const { applied, gradientNorm } = await of().descend({
      optimizer: ADAMW,
      sideLimit: 1,
      compassDecay: 0.9,
    })
    expect(applied).toBe(true)
    expect(gradientNorm).toBeCloseTo(one.gradientNorm, 4)
    for (const [name, values] of Object.entries(await of().weights()))
      expect(furthest(values, expected[name]!), name).toBeLessThan(2e-5)
    expect((await of().optimizer()).steps).toBe(1)
  })

  test('a side gradient is bounded by the main one, however large it is', async () => {
    const [main, side] = [await gradientOf(batch(1)), await gradientOf(batch(2))]
    await open()
    await of().gradient(batch(1))
    await of().keep({ to: 'main', scale: 1 })
    await of().gradient(batch(2))
    await of().keep({ to: 'side', scale: 1000 })
    const report = await descend(0.5)
    expect(report.mainNorm).toBeCloseTo(norm(main), 4)
    expect(report.sideNorm / norm(side)).toBeCloseTo(1000, 1)
    expect(report.sideScale * report.sideNorm).toBeCloseTo(0.5 * report.mainNorm, 5)
    const scale = (0.5 * norm(main)) / norm(side)
    expect(
      furthest(
        await direction(),
        main.map((value, i) => value + scale * side[i]!),
      ),
    ).toBeLessThan(1e-5)
  })

  test('what was kept is gone after the step, and a scale of zero keeps nothing, not even infinities', async () => {
    const main = await gradientOf(batch(1))
    await open()
    await of().gradient({ ...batch(2), objective: { loss: mul(neg(column('logprob')), 1e38), metrics: {} } })
    await of().keep({ to: 'side', scale: 0 })
    await of().gradient(batch(1))
    await of().keep({ to: 'main', scale: 1 })
    await descend(1)
    expect(furthest(await direction(), main)).toBeLessThan(1e-6)
    await expect(descend(1)).rejects.toThrow(/needs a main gradient/)
  })

  test('a mixture that is not finite changes nothing', async () => {
    await open()
    await of().gradient({ ...batch(2), objective: { loss: mul(neg(column('logprob')), 1e38), metrics: {} } })
    await of().keep({ to: 'main', scale: 1e3 })
    expect(await descend(1)).toMatchObject({ applied: false, nonFinite: expect.any(String) })
    expect(await of().weights()).toEqual(randomWeights(SPEC, 1))
    expect((await of().optimizer()).steps).toBe(0)
  })

  test("the compass tells which gradients go the main parts' way, in the optimizer's metric", async () => {
    await open()
    await of().gradient(batch(1))
    await of().keep({ to: 'main', scale: 1 })
    // So small a step that the gradient stays what it was.
    await of().descend({ optimizer: { ...PLAIN, learningRate: 1e-9 }, sideLimit: 1, compassDecay: 0.5 })
    const { first, second } = await of().optimizer()
    const same = await of().gradient(batch(1))
    const opposite = await of().gradient({
      ...batch(1),
      sequences: batch(1).sequences.map((sequence) => ({
        ...sequence,
        columns: { ...sequence.columns, advantage: -(sequence.columns.advantage as number) },
      })),
      objective: { loss: neg(mul(column('logprob'), column('advantage'))), metrics: {} },
    })
    expect(same.along).toBeGreaterThan(0)
    expect(opposite.along).toBeLessThan(0)
    // Along itself, a gradient is as long as it is: sum of g^2 / (sqrt(v) + eps), with one step's v.
    let squared = 0
    for (const [name, values] of Object.entries(first)) {
      values.forEach((g, i) => {
        squared += g ** 2 / (Math.sqrt(second[name]![i]! / (1 - PLAIN.beta2)) + PLAIN.epsilon)
      })
    }
    expect(same.along! / Math.sqrt(squared)).toBeCloseTo(1, 3)
  })
}
