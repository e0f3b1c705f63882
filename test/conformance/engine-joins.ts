// The part of the engine suite about calls of `generate` that come while others run.

import { expect, test } from 'vitest'
import type { Engine, Sample } from '../../daemon/engine/engine.ts'
import { randomTokens, randomWeights, SPEC } from '../engine/model.ts'
import { expectSame, type Opener } from './engine-cases.ts'

export function describeJoins(of: () => Engine, open: Opener): void {
  const settings = { temperature: 1, stopTokens: [1] }
  const callOf = (seed: number, length: number) => ({
    ...settings,
    samples: Array.from({ length: 1 + (seed % 3) }, (_, i) => ({
      prompt: randomTokens(SPEC, 3 + 7 * (seed % 4), seed % 4),
      seed: seed * 31 + i,
    })),
    maxNewTokens: length,
  })

  test('calls that come one by one while others run write what each writes alone', async () => {
    await open()
    const calls = Array.from({ length: 7 }, (_, i) => callOf(i, 60 - 5 * i))
    const alone: Sample[][] = []
    for (const call of calls) alone.push(await of().generate(call))
    const together: Promise<Sample[]>[] = []
    // Each is begun by a token of the one before it.
    const begin = (i: number): void => {
      const call = calls[i]
      if (!call) return
      let isNextBegun = false
      const onToken = (): void => {
        if (isNextBegun) return
        isNextBegun = true
        begin(i + 1)
      }
      together.push(of().generate(call, { onToken }))
    }
    begin(0)
    for (let i = 0; i < together.length; i++) {
      const written = await together[i]!
      expect(written.length).toBe(calls[i]!.samples.length)
      written.forEach((sample, at) => {
        expectSame(sample, alone[i]![at]!)
      })
    }
    expect(together.length).toBe(calls.length)
  })

  test('a call that is refused or aborted leaves the others as they are', async () => {
    await open()
    const call = callOf(2, 50)
    const whole = await of().generate(call)
    const stop = new AbortController()
    const others: Promise<unknown>[] = []
    const written = await of().generate(call, {
      onToken() {
        if (others.length > 0) return
        const refused = of().generate({ ...call, samples: [{ prompt: new Int32Array(), seed: 1 }] })
        others.push(expect(refused).rejects.toThrow(/empty/))
        const aborted = of().generate(callOf(5, 60), { signal: stop.signal, onToken: () => stop.abort() })
        others.push(aborted.then((samples) => expect(samples.length).toBe(3)))
      },
    })
    await Promise.all(others)
    written.forEach((sample, i) => {
      expectSame(sample, whole[i]!)
    })
  })

  test('new weights wait for the calls before them, and the calls after them wait for the weights', async () => {
    await open()
    const [older, newer] = [randomWeights(SPEC, 1), randomWeights(SPEC, 2)]
    await of().open({ spec: SPEC, weights: older, version: 3 })
    const call = callOf(4, 40)
    const [before, , after] = await Promise.all([
      of().generate(call),
      of().setWeights(newer, 4),
      of().generate(call),
    ])
    expect(before.map(({ version, segments }) => [version, segments])).toEqual([
      [3, undefined],
      [3, undefined],
    ])
    expect(after.map(({ version }) => version)).toEqual([4, 4])
    const alone = await of().generate(call)
    after.forEach((sample, i) => {
      expectSame(sample, alone[i]!)
    })
  })
}
