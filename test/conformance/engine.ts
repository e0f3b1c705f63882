// What every engine promises (daemon/engine/engine.ts), as tests of whichever engine a factory makes. Run for the
// built-in ones in `engine.test.ts`; nothing here knows how an engine works inside.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import type { Engine, Sample, TrainRequest } from '../../daemon/engine/engine.ts'
import { column, detach, div, exp, mul, neg, ratio, rowMean, sub } from '../../protocol/plugin/expression.ts'
import { ADAMW, randomTokens, randomWeights, SPEC } from '../engine/model.ts'
import { raggedGroups, stepOf, VARIANTS } from './engine-cases.ts'

export type EngineFactory = (options?: { microBatchTokens?: number }) => Promise<Engine>

export function describeEngine(name: string, create: EngineFactory): void {
  describe(`the ${name} engine`, () => {
    let engine: Engine
    beforeAll(async () => {
      engine = await create()
    })
    afterAll(() => engine.close())
    const open = (spec: DecoderSpec = SPEC) => engine.open({ spec, weights: randomWeights(spec, 1) })

    describeSampling(() => engine, open)
    describeTraining(() => engine, open, create)

    test('says what it is and why it runs there', () => {
      expect(engine.info.kind).toBe(name)
      expect(engine.info.device).not.toBe('')
      expect(engine.info.reason).not.toBe('')
      expect(engine.info.threads).toBeGreaterThan(0)
    })

    test('bad input is refused with what and where, and the next call is served', async () => {
      await open()
      const conditioning = randomTokens(SPEC, 3, 1)
      const score = (completion: Int32Array) =>
        engine.score({ sequences: [{ conditioning, completion }], temperature: 1 })
      await expect(score(Int32Array.of(23))).rejects.toThrow(/token id 23/)
      await expect(score(new Int32Array())).rejects.toThrow(/empty/)
      await expect(score(new Int32Array(94))).rejects.toThrow(/context of 96/)
      const generate = (prompt: Int32Array, maxNewTokens: number) =>
        engine.generate({ samples: [{ prompt, seed: 1 }], maxNewTokens, temperature: 1, stopTokens: [] })
      await expect(generate(new Int32Array(), 4)).rejects.toThrow(/empty/)
      await expect(generate(Int32Array.of(-1), 4)).rejects.toThrow(/token id -1/)
      await expect(generate(conditioning, 94)).rejects.toMatchObject({ code: 'E_ENGINE' })
      await expect(engine.open({ spec: SPEC, weights: {} })).rejects.toThrow(
        /lack the tensor "model.embed_tokens.weight"/,
      )
      await expect(
        engine.setWeights({ ...randomWeights(SPEC, 1), 'model.norm.weight': new Float32Array(3) }),
      ).rejects.toThrow(/model.norm.weight.*3 elements/)
      const step = stepOf(raggedGroups(SPEC, 8))
      await expect(
        engine.train({ ...step, objective: { loss: column('absent'), metrics: {} } }),
      ).rejects.toThrow(/column "absent"/)
      const [first, ...others] = step.sequences
      const short = { ...first!, columns: { ...first!.columns, proximal: new Float32Array(99) } }
      await expect(engine.train({ ...step, sequences: [short, ...others] })).rejects.toThrow(
        /"proximal" has 99 values/,
      )
      await expect(engine.train({ ...step, sequences: [] })).rejects.toThrow(/no sequences/)
      expect((await score(Int32Array.of(1)))[0]!.logprobs).toHaveLength(1)
    })
  })
}

type Opener = (spec?: DecoderSpec) => Promise<void>

function describeSampling(of: () => Engine, open: Opener): void {
  test.each(VARIANTS)('what the sampler reports equals what scoring finds: %s', async (_, spec) => {
    await open(spec)
    for (const temperature of [1, 0.7]) {
      const samples = [3, 9, 1, 9].flatMap((length, p) =>
        Array.from({ length: 3 }, (_, i) => ({ prompt: randomTokens(spec, length, p), seed: p * 100 + i })),
      )
      const out = await of().generate({ samples, maxNewTokens: 24, temperature, stopTokens: [0], slots: 5 })
      const scores = await of().score({
        sequences: out.map((sample, i) => ({ conditioning: samples[i]!.prompt, completion: sample.tokens })),
        temperature,
      })
      out.forEach((sample, i) => {
        expect(sample.tokens.length).toBe(sample.finish === 'stop' ? sample.tokens.indexOf(0) + 1 : 24)
        expect(furthest(sample.logprobs, scores[i]!.logprobs)).toBeLessThan(1e-4)
        expect(furthest(sample.entropies, scores[i]!.entropies)).toBeLessThan(1e-4)
      })
      expect(new Set(out.map(({ finish }) => finish))).toContain('stop')
    }
  })

  test('a sequence gets the same tokens whatever is sampled beside it', async () => {
    await open()
    const one = { prompt: randomTokens(SPEC, 6, 1), seed: 42 }
    const others = Array.from({ length: 9 }, (_, i) => ({
      prompt: randomTokens(SPEC, 2 + i, 50 + i),
      seed: i,
    }))
    const settings = { maxNewTokens: 20, temperature: 1, stopTokens: [0] }
    const [alone] = await of().generate({ samples: [one], ...settings })
    const among = await of().generate({ samples: [...others, one], ...settings, slots: 4 })
    expect(among.at(-1)!.tokens).toEqual(alone!.tokens)
  })

  test('temperature 0 takes the most likely token each time', async () => {
    await open()
    const prompt = randomTokens(SPEC, 6, 1)
    const run = (seed: number) =>
      of().generate({ samples: [{ prompt, seed }], maxNewTokens: 12, temperature: 0, stopTokens: [] })
    const [a] = await run(1)
    const [b] = await run(2)
    expect(a!.tokens).toEqual(b!.tokens)
  })

  test('sampled frequencies follow the reported probabilities', async () => {
    await open()
    const prompt = randomTokens(SPEC, 6, 1)
    const count = 2000
    const samples = Array.from({ length: count }, (_, seed) => ({ prompt, seed }))
    const out = await of().generate({ samples, maxNewTokens: 1, temperature: 1, stopTokens: [] })
    const seen = new Map<number, { times: number; probability: number }>()
    for (const { tokens, logprobs } of out) {
      const entry = seen.get(tokens[0]!) ?? { times: 0, probability: Math.exp(logprobs[0]!) }
      entry.times += 1
      seen.set(tokens[0]!, entry)
    }
    for (const { times, probability } of seen.values()) {
      const deviation = Math.sqrt(count * probability * (1 - probability))
      expect(Math.abs(times - count * probability)).toBeLessThan(4.5 * deviation + 1)
    }
  })

  test('an aborted call keeps what it wrote', async () => {
    await open()
    const samples = Array.from({ length: 64 }, (_, seed) => ({ prompt: randomTokens(SPEC, 4, 9), seed }))
    const settings = { samples, temperature: 1, stopTokens: [], slots: 4 }
    const before = await of().generate({ ...settings, maxNewTokens: 90 }, { signal: AbortSignal.abort() })
    expect(before.every(({ finish, tokens }) => finish === 'aborted' && tokens.length === 0)).toBe(true)

    // How soon there is a first token depends on the machine: wait longer until there is.
    let out: Sample[] = []
    let written: Sample | undefined
    for (let delayMs = 25; written === undefined && delayMs < 5000; delayMs *= 2) {
      out = await of().generate({ ...settings, maxNewTokens: 90 }, { signal: AbortSignal.timeout(delayMs) })
      written = out.find(({ finish, tokens }) => finish === 'aborted' && tokens.length > 0)
    }
    if (!written) throw new Error('no call was aborted while it wrote')
    const index = out.indexOf(written)
    expect(written.logprobs.length).toBe(written.tokens.length)
    const [again] = await of().generate({
      ...settings,
      samples: [samples[index]!],
      maxNewTokens: written.tokens.length,
    })
    expect(again!.tokens).toEqual(written.tokens)
  })

  test('a completion is scored the same alone and beside others', async () => {
    await open()
    const sequences = raggedGroups(SPEC, 8, [4, 2])
    const together = await of().score({ sequences, temperature: 1 })
    for (const [i, sequence] of sequences.entries()) {
      const [apart] = await of().score({ sequences: [sequence], temperature: 1 })
      expect(furthest(apart!.logprobs, together[i]!.logprobs)).toBeLessThan(1e-5)
    }
  })

  test('new weights are what it samples and scores with, and a copy of them', async () => {
    await open()
    const request = { sequences: raggedGroups(SPEC, 8), temperature: 1 }
    const before = await of().score(request)
    const other = randomWeights(SPEC, 2)
    await of().setWeights(other)
    const after = await of().score(request)
    expect(furthest(before[0]!.logprobs, after[0]!.logprobs)).toBeGreaterThan(1e-3)
    const held = await of().weights()
    expect(held).toEqual(other)
    held['model.norm.weight']!.fill(0)
    other['model.norm.weight']!.fill(0)
    expect(await of().weights()).toEqual(randomWeights(SPEC, 2))
    expect(await of().score(request)).toEqual(after)
  })
}

function describeTraining(of: () => Engine, open: Opener, create: EngineFactory): void {
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

function furthest(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length)
  let largest = 0
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!))
  return largest
}
