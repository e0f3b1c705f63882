// The part of the engine suite that puts a step together from several gradients.

import { expect, test } from 'vitest'
import type { Weights } from '../../daemon/engine/decoder.ts'
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
  const direction = async () => flat((await of().optimizer()).first)
  const norm = (values: number[]) => Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0))
  const flat = (tensors: Weights) => Object.values(tensors).flatMap((values) => [...values])
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
    const { applied, mainNorm } = await of().descend({
      optimizer: ADAMW,
      sideLimit: 1,
      compassDecay: 0.9,
    })
    expect(applied).toBe(true)
    expect(mainNorm).toBeCloseTo(one.gradientNorm, 4)
    for (const [name, values] of Object.entries(await of().weights()))
      expect(furthest(values, expected[name]!), name).toBeLessThan(2e-5)
    expect((await of().optimizer()).steps).toBe(1)
  })

  /** What the weights are after a first step of `batch(1)` alone, and each element's divisor in it. */
  const alone = async () => {
    await open()
    await of().train({ ...batch(1), optimizer: PLAIN })
    const { second } = await of().optimizer()
    const spread = Object.values(second).flatMap((values) =>
      [...values].map((v) => Math.sqrt(v / (1 - PLAIN.beta2)) + PLAIN.epsilon),
    )
    return { weights: flat(await of().weights()), spread }
  }
  const withSide = async (request: Omit<TrainRequest, 'optimizer'>, scale: number, limit: number) => {
    await open()
    await of().gradient(batch(1))
    await of().keep({ to: 'main', scale: 1 })
    await of().gradient(request)
    await of().keep({ to: 'side', scale })
    const report = await descend(limit)
    return { report, weights: flat(await of().weights()) }
  }
  const most = 1 / Math.sqrt(1 - PLAIN.beta2)
  const cut = (ratio: number) => Math.max(-most, Math.min(most, ratio))

  test('the main part steps as if alone, and a side beside it no longer than that, however large it is', async () => {
    const [main, side] = [await gradientOf(batch(1)), await gradientOf(batch(2))]
    const { weights: before, spread } = await alone()
    const { report, weights } = await withSide(batch(2), 1000, 0.5)
    expect(report.mainNorm).toBeCloseTo(norm(main), 4)
    expect(report.sideNorm / norm(side)).toBeCloseTo(1000, 1)
    expect(furthest(await direction(), main)).toBeLessThan(1e-6)

    const inner = (a: number[], b: number[]) =>
      a.reduce((sum, value, i) => sum + (value * b[i]!) / spread[i]!, 0)
    const against = Math.min(0, inner(side, main) / inner(main, main))
    const ratios = side.map((value, i) => cut((1000 * (value - against * main[i]!)) / spread[i]!))
    const length = norm(main.map((value, i) => cut(value / spread[i]!)))
    expect(report.sideScale * norm(ratios)).toBeCloseTo(0.5 * length, 1)
    const expected = before.map((weight, i) => weight - PLAIN.learningRate * report.sideScale * ratios[i]!)
    expect(furthest(weights, expected)).toBeLessThan(1e-5)
    expect(furthest(weights, before)).toBeGreaterThan(1e-5)
  })

  test('a side that only goes against the main part moves nothing', async () => {
    const { weights: before } = await alone()
    const { weights } = await withSide(batch(1), -1000, 1)
    expect(furthest(weights, before)).toBeLessThan(1e-5)
  })

  test('a side that is not finite is left out, and the main part steps', async () => {
    const { weights: before } = await alone()
    const broken = { ...batch(2), objective: { loss: mul(neg(column('logprob')), 1e38), metrics: {} } }
    const { report, weights } = await withSide(broken, 1e3, 1)
    expect(report).toMatchObject({ applied: true, sideScale: 0 })
    expect(furthest(weights, before)).toBeLessThan(1e-6)
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

  test('a gradient is compared with the side steps that were taken, as if they had had their full weight', async () => {
    const [main, side] = [await gradientOf(batch(1)), await gradientOf(batch(2))]
    const { spread } = await alone()
    const inner = (a: number[], b: number[]) =>
      a.reduce((sum, value, i) => sum + (value * b[i]!) / spread[i]!, 0)
    await open()
    await of().gradient(batch(1))
    await of().keep({ to: 'main', scale: 1 })
    await of().gradient(batch(2))
    await of().keep({ to: 'side', scale: 1 })
    expect((await of().gradient(batch(2))).aside).toBeUndefined()
    // So small a step that the gradients stay what they were.
    const { sideScale } = await of().descend({
      optimizer: { ...PLAIN, learningRate: 1e-9 },
      sideLimit: 0.2,
      sideShare: 0.4,
      compassDecay: 0.5,
    })
    const against = Math.min(0, inner(side, main) / inner(main, main))
    const taken = side.map((value, i) => ((value - against * main[i]!) * sideScale) / 0.4)
    const unit = Math.sqrt(inner(main, main))
    for (const [request, gradient] of [
      [batch(1), main],
      [batch(2), side],
    ] as const) {
      const { along, aside } = await of().gradient(request)
      expect(along! / (inner(gradient, main) / unit)).toBeCloseTo(1, 2)
      // Of what it would be at most: a side that goes against the main part has nothing left along it.
      const most = Math.sqrt(inner(gradient, gradient) * inner(taken, taken)) / unit
      expect(aside! / most).toBeCloseTo(inner(gradient, taken) / unit / most, 2)
    }
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
