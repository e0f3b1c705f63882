// The part of the engine suite about weights that are taken on by a call that runs.

import { expect, test } from 'vitest'
import type { Engine, Sample } from '../../daemon/engine/engine.ts'
import { randomTokens, randomWeights, SPEC } from '../engine/model.ts'
import { furthest, type Opener } from './engine-cases.ts'

const LENGTH = 80

export function describeInFlight(of: () => Engine, open: Opener): void {
  // Some wait until others have ended, and begin with the new weights.
  const samples = Array.from({ length: 24 }, (_, seed) => ({
    prompt: randomTokens(SPEC, 3 + (seed % 4), seed % 4),
    seed: seed * 17,
  }))
  const request = { samples, maxNewTokens: LENGTH, temperature: 1, stopTokens: [1], slots: 8 }
  const [older, newer] = [randomWeights(SPEC, 1), randomWeights(SPEC, 2)]

  test('weights set in flight are taken on between two steps, and segments say where', async () => {
    await open()
    const whole = await of().generate(request)
    let out: Sample[] = []
    let isSeen = false
    // How soon they arrive depends on the machine.
    for (let tries = 0; !isSeen && tries < 20; tries++) {
      await of().open({ spec: SPEC, weights: older, version: 3 })
      let told = 0
      const set: Promise<void>[] = []
      out = await of().generate(request, {
        onToken() {
          told += 1
          if (told === 20) set.push(of().setWeights(newer, 5, { isInFlight: true }))
        },
      })
      await Promise.all(set)
      isSeen = out.some(({ segments }) => segments) && out.some(({ version }) => version === 5)
    }
    if (!isSeen) throw new Error('no weights arrived in time')
    expect(await of().weights()).toEqual(newer)
    for (const [i, { tokens, logprobs, segments, version, finish }] of out.entries()) {
      if (!segments) {
        if (version === 3) expect(tokens).toEqual(whole[i]!.tokens)
        continue
      }
      const [first, second] = segments
      expect(segments.map((segment) => segment.version)).toEqual([3, 5])
      expect([version, first!.start, second!.start]).toEqual([3, 0, first!.length])
      expect(first!.length + second!.length).toBe(tokens.length)
      expect(['stop', 'length']).toContain(finish)
      // The same as without the change up to where it came.
      expect(tokens.slice(0, first!.length)).toEqual(whole[i]!.tokens.slice(0, first!.length))
      expect(logprobs.slice(0, first!.length)).toEqual(whole[i]!.logprobs.slice(0, first!.length))
    }
    // What began after the change is all the new weights': scoring finds the same.
    const late = [...out.entries()].filter(([, { version }]) => version === 5)
    const scores = await of().score({
      sequences: late.map(([i, { tokens }]) => ({ conditioning: samples[i]!.prompt, completion: tokens })),
      temperature: 1,
    })
    for (const [at, [, { logprobs }]] of late.entries())
      expect(furthest(logprobs, scores[at]!.logprobs)).toBeLessThan(1e-4)
  })

  test('where nothing runs, weights in flight are set as others are; without it they wait', async () => {
    await of().open({ spec: SPEC, weights: older, version: 3 })
    await of().setWeights(newer, 5, { isInFlight: true })
    expect(await of().weights()).toEqual(newer)
    const [out] = await Promise.all([of().generate(request), of().setWeights(older, 6)])
    expect(out.every(({ version, segments }) => version === 5 && !segments)).toBe(true)
    expect(await of().weights()).toEqual(older)
  })

  test('weights in flight that do not fit are refused, and the call goes on', async () => {
    await open()
    const whole = await of().generate(request)
    const refused: Promise<unknown>[] = []
    const out = await of().generate(request, {
      onToken() {
        if (refused.length > 0) return
        const wrong = { ...newer, 'model.norm.weight': new Float32Array(3) }
        refused.push(expect(of().setWeights(wrong, 5, { isInFlight: true })).rejects.toThrow(/norm.weight/))
      },
    })
    await Promise.all(refused)
    expect(out).toEqual(whole)
  })
}
