import { expect, test } from 'vitest'
import { type DecoderSpec, parameterShapes } from '../../daemon/engine/decoder.ts'
import type { TrainRequest } from '../../daemon/engine/engine.ts'
import { type Core, createCore } from '../../daemon/engine/onnx/core.ts'
import { pack, plan } from '../../daemon/engine/onnx/plan.ts'
import { createRuntime } from '../../daemon/engine/onnx/runtime.ts'
import { buildAccumulate } from '../../daemon/engine/onnx/training.ts'
import { column, detach, exp, min, mul, neg, ratio, rowMean, sub } from '../../protocol/plugin/expression.ts'
import { ADAMW, randomTokens, randomWeights, SPEC, uniform } from './model.ts'

const VARIANTS: [string, DecoderSpec][] = [
  ['Llama-like', SPEC],
  ['biased, untied, one key head', { ...SPEC, attentionBias: true, tiedEmbeddings: false, kvHeads: 1 }],
  [
    'query and key norms, wide heads',
    { ...SPEC, queryKeyNorm: true, headWidth: 8, ropeFrequencies: [1, 0.3, 0.1, 0.03] },
  ],
]

const clipped = {
  loss: neg(
    min(
      mul(ratio(column('logprob'), column('proximal')), column('advantage')),
      mul(1.2, column('advantage')),
    ),
  ),
  metrics: { entropy: column('entropy'), ratio: ratio(column('logprob'), column('proximal')) },
}

/** Groups of several completions a prompt, ragged in both. */
function batch(spec: DecoderSpec, seed: number, sizes = [3, 2, 1]): TrainRequest['sequences'] {
  const random = uniform(seed)
  return sizes.flatMap((size, group) => {
    const conditioning = randomTokens(spec, 2 + group * 5, seed + group)
    return Array.from({ length: size }, (_, row) => {
      const completion = randomTokens(spec, 1 + ((row * 5 + group * 3) % 11), seed * 31 + group * 7 + row)
      return {
        conditioning,
        completion,
        columns: {
          advantage: random() * 2 - 1,
          proximal: Float32Array.from(completion, () => -3 + random()),
        },
      }
    })
  })
}

async function opened(spec: DecoderSpec, seed = 1, options = {}): Promise<Core> {
  const core = createCore({ threads: 1, now: () => 0, ...options })
  await core.open({ spec, weights: randomWeights(spec, seed) })
  return core
}

for (const [name, spec] of VARIANTS) {
  test(`every weight's gradient equals finite differences: ${name}`, async () => {
    const sequences = batch(spec, 5)
    const objective = clipped
    const [micro] = plan(sequences.slice(0, 2), { tokens: 4096 })
    const packed = pack(sequences.slice(0, 2), micro!)
    const { shape } = micro!
    const runtime = createRuntime({ threads: 1, maxSessions: 2 })
    const columns = ['advantage', 'mask', 'proximal']
    const graph = await runtime.compile('gradient', () => buildAccumulate(spec, objective, columns, true))
    const weights = randomWeights(spec, 3)
    const table = (values: (member: number, token: number) => number): Float32Array => {
      const out = new Float32Array(packed.mask.length)
      micro!.units.forEach((members, g) => {
        members.forEach((member, r) => {
          for (let t = 0; t < sequences[member]!.completion.length; t++) {
            out[(g * shape.rows + r) * shape.segment + t] = values(member, t)
          }
        })
      })
      return out
    }
    const feeds = {
      ...weights,
      tokens: packed.tokens,
      positions: packed.positions,
      prefixBias: packed.prefixBias,
      targets: packed.targets,
      inverseTemperature: Float32Array.of(1 / 0.8),
      inverseDenominator: Float32Array.of(1),
      'column.mask': packed.mask,
      'column.advantage': table((member) => sequences[member]!.columns.advantage as number),
      'column.proximal': table((member, t) => (sequences[member]!.columns.proximal as Float32Array)[t]!),
    }
    const exact = await graph.run(feeds, { ...shape })
    const random = uniform(11)
    for (const [parameter, size] of parameterShapes(spec)) {
      const data = weights[parameter]!
      expect(data.length).toBe(size.reduce((a, b) => a * b, 1))
      for (let probe = 0; probe < 6; probe++) {
        const at = Math.floor(random() * data.length)
        const value = data[at]!
        const h = 4e-3
        data[at] = value + h
        const up = (await graph.run(feeds, { ...shape })).sums![0]!
        data[at] = value - h
        const down = (await graph.run(feeds, { ...shape })).sums![0]!
        data[at] = value
        const expected = (up - down) / (2 * h)
        const actual = exact[`gradient.${parameter}`]![at]!
        expect(
          Math.abs(actual - expected),
          `${parameter}[${at}]: ${actual} against ${expected}`,
        ).toBeLessThan(6e-3 * Math.max(1, Math.abs(expected)))
      }
    }
    await runtime.close()
  })

  test(`what the sampler reports equals what scoring finds: ${name}`, async () => {
    const core = await opened(spec)
    for (const temperature of [1, 0.7]) {
      const samples = [3, 9, 1, 9].flatMap((length, p) =>
        Array.from({ length: 3 }, (_, i) => ({ prompt: randomTokens(spec, length, p), seed: p * 100 + i })),
      )
      const out = await core.generate(
        { samples, maxNewTokens: 24, temperature, stopTokens: [0], slots: 5 },
        () => false,
      )
      const scores = await core.score({
        sequences: out.map((sample, i) => ({ conditioning: samples[i]!.prompt, completion: sample.tokens })),
        temperature,
      })
      out.forEach((sample, i) => {
        expect(sample.tokens.length).toBe(sample.finish === 'stop' ? sample.tokens.indexOf(0) + 1 : 24)
        sample.logprobs.forEach((logprob, t) => {
          expect(Math.abs(logprob - scores[i]!.logprobs[t]!)).toBeLessThan(1e-4)
          expect(Math.abs(sample.entropies[t]! - scores[i]!.entropies[t]!)).toBeLessThan(1e-4)
        })
      })
    }
    await core.close()
  })
}

test('a sequence gets the same tokens whatever is sampled beside it', async () => {
  const core = await opened(SPEC)
  const one = { prompt: randomTokens(SPEC, 6, 1), seed: 42 }
  const others = Array.from({ length: 9 }, (_, i) => ({ prompt: randomTokens(SPEC, 2 + i, 50 + i), seed: i }))
  const settings = { maxNewTokens: 20, temperature: 1, stopTokens: [0] }
  const [alone] = await core.generate({ samples: [one], ...settings }, () => false)
  const among = await core.generate({ samples: [...others, one], ...settings, slots: 4 }, () => false)
  expect(among.at(-1)!.tokens).toEqual(alone!.tokens)
  await core.close()
})

test('temperature 0 takes the most likely token each time', async () => {
  const core = await opened(SPEC)
  const prompt = randomTokens(SPEC, 6, 1)
  const run = (seed: number) =>
    core.generate(
      { samples: [{ prompt, seed }], maxNewTokens: 12, temperature: 0, stopTokens: [] },
      () => false,
    )
  const [a] = await run(1)
  const [b] = await run(2)
  expect(a!.tokens).toEqual(b!.tokens)
  await core.close()
})

test('sampled frequencies follow the reported probabilities', async () => {
  const core = await opened(SPEC)
  const prompt = randomTokens(SPEC, 6, 1)
  const count = 3000
  const samples = Array.from({ length: count }, (_, seed) => ({ prompt, seed }))
  const out = await core.generate({ samples, maxNewTokens: 1, temperature: 1, stopTokens: [] }, () => false)
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
  await core.close()
})

test('an aborted call keeps what it wrote', async () => {
  const core = await opened(SPEC)
  const samples = Array.from({ length: 6 }, (_, seed) => ({ prompt: randomTokens(SPEC, 4, 9), seed }))
  let steps = 0
  const out = await core.generate(
    { samples, maxNewTokens: 40, temperature: 1, stopTokens: [], slots: 4 },
    () => ++steps > 5,
  )
  expect(out.every((sample) => sample.finish === 'aborted')).toBe(true)
  expect(out.slice(0, 4).map((sample) => sample.tokens.length)).toEqual([6, 6, 6, 6])
  expect(out[5]!.tokens.length).toBe(0)
  await core.close()
})

const request = (sequences: TrainRequest['sequences']): TrainRequest => ({
  sequences,
  objective: clipped,
  temperature: 1,
  denominator: sequences.reduce((total, { completion }) => total + completion.length, 0),
  optimizer: ADAMW,
})

test('micro-batches give the same step as one batch', async () => {
  const sequences = batch(SPEC, 8, [4, 4, 4, 3])
  const whole = await opened(SPEC, 1, { microBatchTokens: 1 << 20 })
  const cut = await opened(SPEC, 1, { microBatchTokens: 16 })
  const one = await whole.train(request(sequences))
  const many = await cut.train(request(sequences))
  expect(many.microBatches).toBeGreaterThan(one.microBatches)
  expect(many.loss).toBeCloseTo(one.loss, 5)
  expect(many.gradientNorm).toBeCloseTo(one.gradientNorm, 4)
  for (const [name, values] of Object.entries(whole.weights())) {
    const other = cut.weights()[name]!
    values.forEach((value, i) => {
      expect(Math.abs(value - other[i]!)).toBeLessThan(2e-5)
    })
  }
})

test('sharing a prompt among completions gives the gradients of separate sequences', async () => {
  // A distinct but equal array is still the same prompt, so separate sequences are forced by calling one at a time.
  const sequences = batch(SPEC, 8, [4])
  const core = await opened(SPEC)
  const total = sequences.reduce((sum, { completion }) => sum + completion.length, 0)
  const together = await core.score({ sequences, temperature: 1 })
  for (const [i, sequence] of sequences.entries()) {
    const [apart] = await core.score({ sequences: [sequence], temperature: 1 })
    apart!.logprobs.forEach((value, t) => {
      expect(Math.abs(value - together[i]!.logprobs[t]!)).toBeLessThan(1e-5)
    })
  }
  expect(total).toBeGreaterThan(0)
})

test('AdamW equals the textbook update', async () => {
  // One step from zero moments moves every weight with a gradient by the learning rate, against its sign.
  const core = await opened(SPEC)
  const before = core.weights()
  await core.train({
    ...request(batch(SPEC, 8)),
    optimizer: { ...ADAMW, epsilon: 1e-12, weightDecay: 0.1, learningRate: 0.01 },
  })
  const after = core.weights()
  const name = 'model.layers.0.mlp.up_proj.weight'
  before[name]!.forEach((value, i) => {
    const decayed = value * (1 - 0.01 * 0.1)
    expect(Math.abs(Math.abs(after[name]![i]! - decayed) - 0.01)).toBeLessThan(1e-4)
  })
  // Norm weights are not decayed.
  before['model.norm.weight']!.forEach((value, i) => {
    expect(Math.abs(Math.abs(after['model.norm.weight']![i]! - value) - 0.01)).toBeLessThan(1e-4)
  })
})

test('the same seed and batches give the same weights bit for bit, across a resume too', async () => {
  const steps = [1, 2, 3, 4].map((seed) => request(batch(SPEC, seed)))
  const run = await opened(SPEC)
  for (const step of steps) await run.train(step)
  const first = await opened(SPEC)
  for (const step of steps.slice(0, 2)) await first.train(step)
  const resumed = createCore({ threads: 1, now: () => 0 })
  await resumed.open({ spec: SPEC, weights: first.weights(), optimizer: first.optimizer() })
  for (const step of steps.slice(2)) await resumed.train(step)
  expect(resumed.weights()).toEqual(run.weights())
  expect(resumed.optimizer()).toEqual(run.optimizer())
})

test('a step with a loss that is not finite changes nothing and names the culprit', async () => {
  const core = await opened(SPEC)
  const before = core.weights()
  const broken = await core.train({
    ...request(batch(SPEC, 8)),
    objective: { loss: mul(column('logprob'), exp(1000)), metrics: {} },
  })
  expect(broken).toMatchObject({ applied: false, nonFinite: 'loss' })
  const gradientOnly = await core.train({
    ...request(batch(SPEC, 8)),
    objective: { loss: sub(mul(column('logprob'), 1e37), mul(detach(column('logprob')), 1e37)), metrics: {} },
  })
  expect(gradientOnly).toMatchObject({ applied: false, nonFinite: 'model.embed_tokens.weight' })
  expect(core.weights()).toEqual(before)
  expect(core.optimizer().steps).toBe(0)
})

test('metrics are means over masked tokens', async () => {
  const core = await opened(SPEC)
  const sequences = batch(SPEC, 8)
  const scores = await core.score({ sequences, temperature: 1 })
  const entropies = scores.flatMap(({ entropies }) => [...entropies])
  const report = await core.train({
    ...request(sequences),
    objective: { loss: neg(column('logprob')), metrics: { entropy: column('entropy'), length: rowMean(1) } },
  })
  expect(report.metrics.entropy).toBeCloseTo(entropies.reduce((a, b) => a + b, 0) / entropies.length, 4)
  expect(report.metrics.length).toBeCloseTo(1, 5)
  expect(report.completionTokens).toBe(entropies.length)
})

test('bad input is refused with what and where', async () => {
  const core = await opened(SPEC)
  const conditioning = randomTokens(SPEC, 3, 1)
  await expect(
    core.score({ sequences: [{ conditioning, completion: Int32Array.of(23) }], temperature: 1 }),
  ).rejects.toThrow(/token id 23/)
  await expect(
    core.score({ sequences: [{ conditioning, completion: new Int32Array() }], temperature: 1 }),
  ).rejects.toThrow(/empty/)
  await expect(
    core.score({ sequences: [{ conditioning, completion: new Int32Array(94) }], temperature: 1 }),
  ).rejects.toThrow(/context of 96/)
  await expect(core.open({ spec: SPEC, weights: {} })).rejects.toThrow(
    /lack the tensor "model.embed_tokens.weight"/,
  )
  await expect(
    core.train({ ...request(batch(SPEC, 8)), objective: { loss: column('absent'), metrics: {} } }),
  ).rejects.toThrow(/column "absent"/)
})
