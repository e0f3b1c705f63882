// The part of the engine suite that trains.

import { expect, test } from 'vitest'
import { adapterNames, parameterShapes, trainableShapes } from '../../daemon/engine/decoder.ts'
import type { Engine, TrainRequest } from '../../daemon/engine/engine.ts'
import {
  column,
  detach,
  div,
  exp,
  mul,
  neg,
  ratio,
  rowMean,
  sub,
} from '../../protocol/plugin/expression/expression.ts'
import { ADAMW, randomWeights, SPEC } from '../engine/model.ts'
import { type EngineFactory, furthest, type Opener, raggedGroups, stepOf } from './engine-cases.ts'
import { ADAPTED } from './families.ts'

export function describeTraining(of: () => Engine, open: Opener, create: EngineFactory): void {
  test('micro-batches give the same step as one batch', async () => {
    const step = stepOf(raggedGroups(SPEC, 8, [4, 4, 4, 3]))
    await open()
    const one = await of().train(step)
    const cut = await create({ microBatchTokens: 16 })
    await cut.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
    const many = await cut.train(step)
    expect(many.microBatches).toBeGreaterThan(one.microBatches)
    expect(many.loss).toBeCloseTo(one.loss, 5)
    expect(many.gradientNorm).toBeCloseTo(one.gradientNorm, 4)
    expect(many.metrics.entropy).toBeCloseTo(one.metrics.entropy!, 5)
    const others = await cut.weights()
    for (const [name, values] of Object.entries(await of().weights()))
      expect(furthest(values, others[name]!), name).toBeLessThan(2e-5)
    await cut.close()
  })

  test('with adapters, nothing else is trained, saved or handed over', async () => {
    const [, spec] = ADAPTED
    await open(spec)
    const weights = randomWeights(spec, 1)
    await of().open({ spec, weights })
    await of().train(stepOf(raggedGroups(spec, 8)))
    const trained = await of().weights()
    const { first } = await of().optimizer()
    expect(Object.keys(trained)).toEqual([...trainableShapes(spec).keys()])
    expect(Object.keys(first)).toEqual([...trainableShapes(spec).keys()])
    expect(Object.keys(trained).every((name) => /lora_[AB]/.test(name))).toBe(true)

    // The product added to the matrix by plain arithmetic is the same model.
    const sequences = raggedGroups(spec, 9)
    const { adapter, ...plain } = spec
    const merged = { ...weights }
    for (const [name, [rows, columns]] of parameterShapes(plain)) {
      const { a, b } = adapterNames(name)
      const [down, up] = [trained[a], trained[b]]
      if (!down || !up) continue
      merged[name] = weights[name]!.map((value, at) => {
        const [row, column] = [Math.floor(at / columns!), at % columns!]
        let sum = 0
        for (let i = 0; i < adapter!.rank; i++)
          sum += up[row * adapter!.rank + i]! * down[i * columns! + column]!
        return value + (sum * adapter!.alpha) / adapter!.rank
      })
      expect(up.length).toBe(rows! * adapter!.rank)
    }
    const scores = await of().score({ sequences, temperature: 1 })
    await of().open({ spec: plain, weights: merged })
    for (const [i, { logprobs }] of (await of().score({ sequences, temperature: 1 })).entries())
      expect(furthest(logprobs, scores[i]!.logprobs)).toBeLessThan(1e-4)
  })

  test('AdamW equals the textbook update', async () => {
    // One step from zero moments moves every weight with a gradient by the learning rate, against its sign.
    await open()
    const before = await of().weights()
    await of().train({
      ...stepOf(raggedGroups(SPEC, 8)),
      optimizer: { ...ADAMW, epsilon: 1e-12, weightDecay: 0.1, learningRate: 0.01 },
    })
    const after = await of().weights()
    const moved = (name: string, decay: number) =>
      before[name]!.map((value, i) => Math.abs(Math.abs(after[name]![i]! - value * (1 - decay)) - 0.01))
    expect(Math.max(...moved('model.layers.0.mlp.up_proj.weight', 0.01 * 0.1))).toBeLessThan(1e-4)
    // Norm weights are not decayed.
    expect(Math.max(...moved('model.norm.weight', 0))).toBeLessThan(1e-4)
  })

  test('gradients are scaled down to the largest norm allowed', async () => {
    const step = stepOf(raggedGroups(SPEC, 8))
    const norms = []
    for (const maxGradientNorm of [1e30, 0.01]) {
      await open()
      const { gradientNorm } = await of().train({
        ...step,
        optimizer: { ...ADAMW, beta1: 0, maxGradientNorm },
      })
      const { first, steps } = await of().optimizer()
      expect(steps).toBe(1)
      norms.push(Math.hypot(...Object.values(first).flatMap((values) => [...values])))
      expect(norms[0]).toBeCloseTo(gradientNorm, 4)
    }
    expect(norms[1]).toBeCloseTo(0.01, 5)
  })

  test('the same seed and batches give the same weights bit for bit, across a resume too', async () => {
    const steps = [1, 2, 3, 4].map((seed) => stepOf(raggedGroups(SPEC, seed)))
    await open()
    for (const step of steps) await of().train(step)
    const whole = { weights: await of().weights(), optimizer: await of().optimizer() }
    await open()
    for (const step of steps.slice(0, 2)) await of().train(step)
    const saved = { weights: await of().weights(), optimizer: await of().optimizer() }
    await open()
    await of().open({ spec: SPEC, ...saved })
    for (const step of steps.slice(2)) await of().train(step)
    expect(await of().weights()).toEqual(whole.weights)
    expect(await of().optimizer()).toEqual(whole.optimizer)
  })

  test('a step with a loss that is not finite changes nothing and names the culprit', async () => {
    await open()
    const step = stepOf(raggedGroups(SPEC, 8))
    const train = (loss: TrainRequest['objective']['loss']) =>
      of().train({ ...step, objective: { loss, metrics: {} } })
    const logprob = column('logprob')
    expect(await train(mul(logprob, exp(1000)))).toMatchObject({ applied: false, nonFinite: 'loss' })
    expect(await train(sub(mul(logprob, 1e37), mul(detach(logprob), 1e37)))).toMatchObject({
      applied: false,
      nonFinite: 'model.embed_tokens.weight',
    })
    expect(await of().weights()).toEqual(randomWeights(SPEC, 1))
    expect((await of().optimizer()).steps).toBe(0)
  })

  test('metrics are means over masked tokens, and nothing outside the mask counts', async () => {
    await open()
    const sequences = raggedGroups(SPEC, 8).map((sequence) => ({
      ...sequence,
      columns: {
        ...sequence.columns,
        // The last token of each completion of several does not count.
        mask: Float32Array.from(sequence.completion, (_, t) =>
          t > 0 && t === sequence.completion.length - 1 ? 0 : 1,
        ),
      },
    }))
    const scores = await of().score({ sequences, temperature: 1 })
    const counted = scores.flatMap(({ entropies }, i) =>
      [...entropies].filter((_, t) => sequences[i]!.columns.mask[t] === 1),
    )
    const mean = counted.reduce((a, b) => a + b, 0) / counted.length
    // Zero over zero outside the mask, in value and gradient.
    const guarded = mul(column('logprob'), div(column('mask'), column('mask')))
    const report = await of().train({
      ...stepOf(sequences),
      objective: {
        loss: neg(guarded),
        metrics: { entropy: column('entropy'), length: rowMean(1), ratio: ratio(column('logprob'), 0) },
      },
    })
    expect(report.metrics.entropy).toBeCloseTo(mean, 4)
    expect(report.metrics.length).toBeCloseTo(1, 5)
    expect(report.completionTokens).toBe(counted.length)
    expect(report.realTokens).toBeLessThanOrEqual(report.computedTokens)
    expect(Number.isFinite(report.loss)).toBe(true)
  })

  test('a loss that depends on no weight moves none', async () => {
    await open()
    const step = stepOf(raggedGroups(SPEC, 8))
    const report = await of().train({ ...step, objective: { loss: column('advantage'), metrics: {} } })
    expect(report).toMatchObject({ applied: true, gradientNorm: 0 })
    expect(await of().weights()).toEqual(randomWeights(SPEC, 1))
  })
}
