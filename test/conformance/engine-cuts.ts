// The part of the engine suite about sequences that are ended one by one while a call runs.

import { expect, test } from 'vitest'
import { createControl } from '../../daemon/engine/control.ts'
import type { DrawnToken, Engine, GenerateOptions, Sample } from '../../daemon/engine/engine.ts'
import { randomTokens, SPEC } from '../engine/model.ts'
import { expectSame, type Opener } from './engine-cases.ts'

const LENGTH = 80

export function describeCuts(of: () => Engine, open: Opener): void {
  /** Eight side by side and four that wait; some end by themselves before the others. */
  const samples = Array.from({ length: 12 }, (_, seed) => ({
    prompt: randomTokens(SPEC, 3 + (seed % 4), seed % 4),
    seed: seed * 17,
  }))
  const request = { samples, maxNewTokens: LENGTH, temperature: 1, stopTokens: [1], slots: 8 }
  const run = (options?: GenerateOptions) => of().generate(request, options)
  /** One of the first eight that goes on to the end when it is left alone. */
  const longOf = (whole: readonly Sample[]): number => {
    const found = whole.findIndex(({ finish }, i) => i < 8 && finish === 'length')
    if (found < 0) throw new Error('no sequence is long enough to be cut')
    return found
  }
  /** Cuts a sequence once it has so many tokens. How far it is when the cut arrives depends on the machine. */
  const cutOne = async (one: number, after: number, before: readonly number[] = []) => {
    for (let tries = 0; tries < 20; tries++) {
      const control = createControl()
      control.cut(before)
      const told = samples.map((): DrawnToken[] => [])
      const finished = new Map<number, Sample>()
      const out = await run({
        control,
        onToken: (token) => {
          if (told[token.sample]!.push(token) === after && token.sample === one) control.cut([one])
        },
        onFinish: (sample, written) => {
          expect(finished.has(sample)).toBe(false)
          finished.set(sample, written)
        },
      })
      expect([...finished].sort(([a], [b]) => a - b)).toEqual([...out.entries()])
      for (const [i, { tokens, logprobs, entropies }] of out.entries()) {
        const given = told[i]!.slice(0, tokens.length)
        expect(given.map(({ token }) => token)).toEqual([...tokens])
        expect(Float32Array.from(given, ({ logprob }) => logprob)).toEqual(logprobs)
        expect(Float32Array.from(given, ({ entropy }) => entropy)).toEqual(entropies)
      }
      if (out[one]!.finish === 'aborted') return out
    }
    throw new Error('no cut arrived in time')
  }

  test('a sequence that is cut keeps what it wrote, and the others are as if it had not been', async () => {
    await open()
    const whole = await run()
    const one = longOf(whole)
    const [unstarted] = [11]
    const out = await cutOne(one, 5, [unstarted, 99, -1])
    const { tokens, logprobs, policyLogprobs, entropies } = out[one]!
    expect(tokens.length).toBeGreaterThanOrEqual(5)
    expect(tokens.length).toBeLessThan(LENGTH)
    expect(tokens).toEqual(whole[one]!.tokens.slice(0, tokens.length))
    expect(logprobs).toEqual(whole[one]!.logprobs.slice(0, tokens.length))
    expect([policyLogprobs.length, entropies.length]).toEqual([tokens.length, tokens.length])
    expect(out[unstarted]).toMatchObject({ finish: 'aborted', tokens: new Int32Array() })
    out.forEach((sample, i) => {
      if (i !== one && i !== unstarted) expectSame(sample, whole[i]!)
    })
  })

  test('a sequence that was cut goes on later as if it had not been', async () => {
    await open()
    const whole = await run()
    const one = longOf(whole)
    const written = (await cutOne(one, 3))[one]!.tokens
    const { prompt, seed } = samples[one]!
    const rest = await of().generate({
      ...request,
      samples: [{ prompt: Int32Array.from([...prompt, ...written]), seed, drawn: written.length }],
      maxNewTokens: LENGTH - written.length,
    })
    expect([...written, ...rest[0]!.tokens]).toEqual([...whole[one]!.tokens])
  })

  test('a cut that comes after its sequence, or after the call, changes nothing', async () => {
    await open()
    const whole = await run()
    const control = createControl()
    const out = await run({ control, onFinish: (sample) => control.cut([sample]) })
    expect(out).toEqual(whole)
    control.cut([0])
    expect(await run()).toEqual(whole)
  })
}
