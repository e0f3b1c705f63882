// The part of the engine suite about teachers: the likeliest tokens that a teacher gives, and the divergence that a
// student learns from. Compared with sums over a vocabulary in double precision, and with finite differences.

import { expect, test } from 'vitest'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import { NO_ADAPTER, trainableShapes } from '../../daemon/engine/decoder.ts'
import type { Engine, Score, TrainRequest } from '../../daemon/engine/engine.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { column, mul, where } from '../../protocol/plugin/expression/expression.ts'
import { ADAMW, randomTokens, randomWeights, SPEC } from '../engine/model.ts'
import { type Opener, raggedGroups } from './engine-cases.ts'
import { ADAPTED, EVERY_OPTION } from './families.ts'

type Sequences = TrainRequest['sequences']

const DISTILLED = {
  loss: where(column('taught'), mul(column('divergence'), column('advantage')), 0),
  metrics: { divergence: column('divergence') },
}

/** What the model with other weights says about the sequences. */
async function taughtBy(engine: Engine, seed: number, spec: DecoderSpec, top: number): Promise<Sequences> {
  const sequences = raggedGroups(spec, 8)
  const all = randomWeights(spec, seed)
  await engine.open({ spec, weights: all })
  const scores = await engine.score({ sequences, temperature: 1, top })
  return sequences.map(({ columns, ...sequence }, i) => ({
    ...sequence,
    columns: { advantage: columns.advantage!, taught: 1 },
    teacher: scores[i]!.top!,
  }))
}

/** Σ p_c (log p_c - log q_c) at each token, from all log-probs of both. */
function divergences(
  { logprobs }: NonNullable<Score['top']>,
  teacher: NonNullable<Score['top']>,
  vocabulary: number,
  own: Int32Array,
): number[] {
  const places = teacher.tokens.length / teacher.count
  return Array.from({ length: places }, (_, place) => {
    const of = new Map<number, number>()
    for (let i = 0; i < vocabulary; i++)
      of.set(own[place * vocabulary + i]!, Math.exp(logprobs[place * vocabulary + i]!))
    let [sum, p, q] = [0, 1, 1]
    for (let i = 0; i < teacher.count; i++) {
      const at = place * teacher.count + i
      const mine = of.get(teacher.tokens[at]!)!
      sum += mine * (Math.log(mine) - teacher.logprobs[at]!)
      p -= mine
      q -= Math.exp(teacher.logprobs[at]!)
    }
    return teacher.count === vocabulary ? sum : sum + p * Math.log(p / q)
  })
}

export function describeTeachers(of: () => Engine, open: Opener): void {
  const learning = (sequences: Sequences): Omit<TrainRequest, 'optimizer'> => ({
    sequences,
    objective: DISTILLED,
    temperature: 1,
    denominator: 1,
  })

  test('the likeliest tokens are the largest log-probs of the vocabulary, falling', async () => {
    await open()
    const sequences = raggedGroups(SPEC, 8)
    const [some, all] = await Promise.all(
      [3, SPEC.vocabulary + 5].map((top) => of().score({ sequences, temperature: 0.7, top })),
    )
    all!.forEach(({ top }, i) => {
      const { completion } = sequences[i]!
      expect(top!.count).toBe(SPEC.vocabulary)
      completion.forEach((token, place) => {
        const row = top!.logprobs.subarray(place * top!.count, (place + 1) * top!.count)
        expect([...row]).toEqual([...row].sort((a, b) => b - a))
        const at = top!.tokens.indexOf(token, place * top!.count)
        expect(top!.logprobs[at]).toBeCloseTo(all![i]!.logprobs[place]!, 4)
        expect(row.reduce((sum, logprob) => sum + Math.exp(logprob), 0)).toBeCloseTo(1, 4)
        expect([...some![i]!.top!.logprobs.subarray(place * 3, place * 3 + 3)]).toEqual([
          ...row.subarray(0, 3),
        ])
      })
    })
  })

  test.each([
    ...[1, 4, SPEC.vocabulary].map((top) => [`${top} tokens`, SPEC, top] as const),
    [...EVERY_OPTION, 4] as const,
  ])('the divergence from a teacher is what a sum over categories gives: %s', async (_, spec, top) => {
    const sequences = await taughtBy(of(), 2, spec, top)
    await open(spec)
    const found = await of().gradient({ ...learning(sequences), into: 'taught' })
    const scores = await of().score({ sequences, temperature: 1, top: spec.vocabulary })
    const all = scores.flatMap(({ top }, i) =>
      divergences(top!, sequences[i]!.teacher!, spec.vocabulary, top!.tokens),
    )
    expect(Math.min(...all)).toBeGreaterThan(-1e-4)
    expect(found.metrics.divergence).toBeCloseTo(all.reduce((a, b) => a + b, 0) / all.length, 3)
  })

  test.each([['all weights', SPEC] as const, ADAPTED])(
    'the gradient of the divergence is that of finite differences: %s',
    async (_, spec) => {
      const sequences = await taughtBy(of(), 2, spec, 4)
      await open(spec)
      const plain = await of().weights()
      const lossAt = async (weights: Weights): Promise<number> => {
        await of().setWeights(weights)
        return (await of().gradient({ ...learning(sequences), into: 'probe' })).loss
      }
      const { gradientNorm } = await of().train({
        ...learning(sequences),
        optimizer: { ...ADAMW, learningRate: 1e-9, beta1: 0, maxGradientNorm: 1e30 },
      })
      // With beta1 = 0 the first moment is the gradient itself.
      const { first } = await of().optimizer()
      const along = (by: number): Weights =>
        Object.fromEntries(
          [...trainableShapes(spec).keys()].map((name) => [
            name,
            plain[name]!.map((value, i) => value + (by / gradientNorm) * first[name]![i]!),
          ]),
        )
      const h = 0.01
      const slope = ((await lossAt(along(h))) - (await lossAt(along(-h)))) / (2 * h)
      expect(Math.abs(slope / gradientNorm - 1)).toBeLessThan(0.02)
    },
  )

  test('a model of which nothing is trained scores as the same model otherwise', async () => {
    const request = { sequences: raggedGroups(SPEC, 8), temperature: 1 }
    await open()
    const whole = await of().score(request)
    await of().open({ spec: { ...SPEC, adapter: NO_ADAPTER }, weights: randomWeights(SPEC, 1) })
    expect(await of().weights()).toEqual({})
    const frozen = await of().score(request)
    for (const [i, { logprobs }] of frozen.entries())
      logprobs.forEach((logprob, t) => {
        expect(logprob).toBeCloseTo(whole[i]!.logprobs[t]!, 4)
      })
    const samples = [{ prompt: Int32Array.of(1), seed: 1 }]
    const [written] = await of().generate({ samples, maxNewTokens: 2, temperature: 1, stopTokens: [] })
    expect(written!.tokens).toHaveLength(2)
  })

  test('a policy that is its own teacher has no divergence and no gradient', async () => {
    const sequences = await taughtBy(of(), 1, SPEC, 4)
    await open()
    const { gradientNorm, metrics } = await of().gradient({ ...learning(sequences), into: 'own' })
    expect(Math.abs(metrics.divergence!)).toBeLessThan(1e-5)
    expect(gradientNorm).toBeLessThan(1e-3)
  })

  test('sequences without a teacher may be in the same batch, and add nothing', async () => {
    const [first, ...others] = await taughtBy(of(), 2, SPEC, 4)
    await open()
    const alone = await of().gradient({ ...learning([first!]), into: 'alone' })
    const untaught = others.map(({ teacher: _, ...rest }) => ({
      ...rest,
      columns: { advantage: 1, taught: 0 },
    }))
    const beside = await of().gradient({ ...learning([first!, ...untaught]), into: 'beside' })
    expect(beside.loss).toBeCloseTo(alone.loss, 4)
    expect(beside.gradientNorm).toBeCloseTo(alone.gradientNorm, 4)
  })

  test('a teacher that says what cannot be is refused', async () => {
    await open()
    const sequence = {
      conditioning: randomTokens(SPEC, 5, 1),
      completion: randomTokens(SPEC, 2, 2),
      columns: { advantage: 1, taught: 1 },
    }
    const good = { count: 2, tokens: Int32Array.of(1, 2, 3, 4), logprobs: Float32Array.of(-1, -2, -1, -2) }
    const saying = (teacher: NonNullable<Score['top']>) =>
      of().gradient({ ...learning([{ ...sequence, teacher }]), into: 'bad' })
    await expect(saying(good)).resolves.toBeDefined()
    await expect(saying({ ...good, tokens: Int32Array.of(1, 2, 3, 3) })).rejects.toThrow('twice')
    await expect(saying({ ...good, tokens: Int32Array.of(1, 2, 3, 1e6) })).rejects.toThrow('vocabulary')
    await expect(saying({ ...good, logprobs: Float32Array.of(-1, 2, -1, -2) })).rejects.toThrow('above 0')
    await expect(saying({ ...good, logprobs: Float32Array.of(-1, Number.NaN, -1, -2) })).rejects.toThrow(
      'not finite',
    )
    await expect(saying({ ...good, tokens: Int32Array.of(1, 2) })).rejects.toThrow('2 places')
    const other = { count: 1, tokens: Int32Array.of(1, 2), logprobs: Float32Array.of(-1, -1) }
    const both = [good, other].map((teacher) => ({ ...sequence, teacher }))
    await expect(of().gradient({ ...learning(both), into: 'bad' })).rejects.toThrow('one number')
  })
}
