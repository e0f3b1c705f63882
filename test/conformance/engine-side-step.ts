// The side step (daemon/trainer/sharing/mixing/side-step.ts) on whichever engine a factory makes.

import { expect, test } from 'vitest'
import type { Weights } from '../../daemon/engine/decoder.ts'
import type { Engine, TrainRequest } from '../../daemon/engine/engine.ts'
import type { MixingOptions, Part } from '../../daemon/trainer/sharing/mixing/index.ts'
import { sideStep } from '../../daemon/trainer/sharing/mixing/side-step.ts'
import { column, mul, neg } from '../../protocol/plugin/expression.ts'
import { ADAMW, randomWeights, SPEC } from '../engine/model.ts'
import { furthest, type Opener, raggedGroups, stepOf } from './engine-cases.ts'

/** No clipping, so that a step's first moment is the gradient itself. */
const PLAIN: TrainRequest['optimizer'] = { ...ADAMW, beta1: 0, maxGradientNorm: 1e30 }
/** So small a step that gradients stay what they were. */
const TINY = { ...PLAIN, learningRate: 1e-9 }
const LIMIT = Math.SQRT2 - 1

type Request = Omit<TrainRequest, 'optimizer'>

export function describeSideStep(of: () => Engine, open: Opener): void {
  const batch = (seed: number, sizes = [3, 2]): Request => {
    const { optimizer: _, ...request } = stepOf(raggedGroups(SPEC, seed, sizes))
    return { ...request, denominator: 20 }
  }
  const broken = (): Request => ({
    ...batch(2),
    objective: { loss: mul(mul(neg(column('logprob')), 1e38), 1e3), metrics: {} },
  })
  const flat = (tensors: Weights) => Object.values(tensors).flatMap((values) => [...values])
  const norm = (values: number[]) => Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0))
  /** What the last step descended along. */
  const direction = async () => flat((await of().optimizer()).first)
  const gradientOf = async (request: Request) => {
    await open()
    await of().train({ ...request, optimizer: PLAIN })
    return direction()
  }

  const part = (request: Request, factor: number, author?: string): Part => ({
    ...(author === undefined ? {} : { author }),
    count: 20,
    async gradient(into) {
      const report = await of().gradient({ ...request, into })
      if (factor !== 1) await of().combine({ into, terms: [{ slot: into, factor }] })
      return {
        ...report,
        gradientNorm: Math.abs(factor) * report.gradientNorm,
        ...(report.nonFinite === undefined || author === undefined ? {} : { leftOut: 'not finite' as const }),
        ...(author === undefined ? {} : { author }),
        groups: 1,
        count: 20,
        scale: 0,
        wouldScale: 0,
      }
    },
  })
  const step = (own: Request, foreign: [Request, number][], options: Partial<MixingOptions> = {}) =>
    sideStep.mix(
      { own: part(own, 1), foreign: foreign.map(([request, factor]) => part(request, factor, 'peer')) },
      {
        optimizer: PLAIN,
        learnForeign: true,
        allowance: () => 1e9,
        weight: () => 1,
        standing: () => 1,
        ...options,
      },
      of(),
    )

  /** The weights after a first step of `batch(1)` alone, and each element's divisor in it. */
  const alone = async () => {
    await open()
    await of().train({ ...batch(1), optimizer: PLAIN })
    const { second } = await of().optimizer()
    const spread = flat(second).map((v) => Math.sqrt(v / (1 - PLAIN.beta2)) + PLAIN.epsilon)
    const inner = (a: number[], b: number[]) =>
      a.reduce((sum, value, i) => sum + (value * b[i]!) / spread[i]!, 0)
    return { weights: flat(await of().weights()), spread, inner }
  }
  const most = 1 / Math.sqrt(1 - PLAIN.beta2)
  const cut = (ratio: number) => Math.max(-most, Math.min(most, ratio))

  test('the own part steps as if alone, and peers make a bounded step beside it, however large theirs are', async () => {
    const [main, side] = [await gradientOf(batch(1)), await gradientOf(batch(2))]
    const { weights: before, spread, inner } = await alone()
    await open()
    const { parts, gradientNorm } = await step(batch(1), [[batch(2), 1000]], { weight: () => 0.5 })
    const weights = flat(await of().weights())
    expect(gradientNorm).toBeCloseTo(norm(main), 4)
    expect(furthest(await direction(), main)).toBeLessThan(1e-6)

    const against = Math.min(0, inner(side, main) / inner(main, main))
    const ratios = side.map((value, i) => cut((500 * (value - against * main[i]!)) / spread[i]!))
    const length = norm(main.map((value, i) => cut(value / spread[i]!)))
    const sideScale = parts[1]!.scale / 0.5
    expect(sideScale * norm(ratios)).toBeCloseTo(0.5 * LIMIT * length, 1)
    const expected = before.map((weight, i) => weight - PLAIN.learningRate * sideScale * ratios[i]!)
    expect(furthest(weights, expected)).toBeLessThan(1e-5)
    expect(furthest(weights, before)).toBeGreaterThan(1e-5)
  })

  test('peers that only go against the own part move nothing', async () => {
    const { weights: before } = await alone()
    await open()
    await step(batch(1), [[batch(1), -1000]])
    expect(furthest(flat(await of().weights()), before)).toBeLessThan(1e-5)
  })

  test('a foreign gradient that is not finite is left out, and the own part steps', async () => {
    const { weights: before } = await alone()
    await open()
    const { parts, nonFinite } = await step(batch(1), [[broken(), 1]])
    expect(nonFinite).toBeUndefined()
    expect(parts[1]).toMatchObject({ leftOut: 'not finite', scale: 0 })
    expect(furthest(flat(await of().weights()), before)).toBeLessThan(1e-6)
  })

  test('an own gradient that is not finite changes nothing', async () => {
    await open()
    expect((await step(broken(), [[batch(1), 1]])).nonFinite).toBeDefined()
    expect(await of().weights()).toEqual(randomWeights(SPEC, 1))
    expect((await of().optimizer()).steps).toBe(0)
  })

  test('gradients are compared with earlier own steps and with the side steps that were taken', async () => {
    const [main, side] = [await gradientOf(batch(1)), await gradientOf(batch(2))]
    const { inner } = await alone()
    await open()
    const options = { optimizer: TINY, weight: () => 0.5 }
    const first = await step(batch(1), [[batch(2), 1]], options)
    for (const { alongOwn, alongForeign } of first.parts)
      expect([alongOwn, alongForeign]).toEqual([undefined, undefined])
    const against = Math.min(0, inner(side, main) / inner(main, main))
    const share = first.parts[1]!.scale / (0.5 * LIMIT)
    const taken = side.map((value, i) => (value * 0.5 - against * 0.5 * main[i]!) * (share / 0.5))
    const unit = Math.sqrt(inner(main, main))
    const second = await step(batch(1), [[batch(2), 1]], { ...options, learnForeign: false })
    for (const [i, gradient] of [main, side].entries()) {
      const { alongOwn, alongForeign } = second.parts[i]!
      const size = norm(main) * norm(gradient)
      expect((alongOwn! * unit) / size).toBeCloseTo(inner(gradient, main) / size, 2)
      // As a share of what it would be at most: a side that goes against the main part has nothing left along it.
      const largest = Math.sqrt(inner(gradient, gradient) * inner(taken, taken)) / unit
      expect(alongForeign! / largest).toBeCloseTo(inner(gradient, taken) / unit / largest, 2)
    }
  })

  test('looking at peers without learning from them leaves the own step as it is', async () => {
    const { weights: before } = await alone()
    await open()
    const { parts } = await step(batch(1), [[batch(2), 1]], { learnForeign: false })
    expect(parts[1]!.scale).toBe(0)
    expect(furthest(flat(await of().weights()), before)).toBeLessThan(1e-6)
  })
}
