// The part of the engine suite that samples and scores.

import { expect, test } from 'vitest'
import type { Engine, Sample } from '../../daemon/engine/engine.ts'
import { randomTokens, randomWeights, SPEC } from '../engine/model.ts'
import { furthest, type Opener, raggedGroups } from './engine-cases.ts'
import { ADAPTED, EVERY_OPTION, FAMILIES } from './families.ts'

export function describeSampling(of: () => Engine, open: Opener): void {
  test.each([...FAMILIES, EVERY_OPTION, ADAPTED])(
    'what the sampler reports equals what scoring finds: %s',
    async (_, spec) => {
      await open(spec)
      for (const temperature of [1, 0.7]) {
        const samples = [3, 9, 1, 9].flatMap((length, p) =>
          Array.from({ length: 3 }, (_, i) => ({ prompt: randomTokens(spec, length, p), seed: p * 100 + i })),
        )
        const out = await of().generate({ samples, maxNewTokens: 24, temperature, stopTokens: [0], slots: 5 })
        const scores = await of().score({
          sequences: out.map((sample, i) => ({
            conditioning: samples[i]!.prompt,
            completion: sample.tokens,
          })),
          temperature,
        })
        out.forEach((sample, i) => {
          expect(sample.tokens.length).toBe(sample.finish === 'stop' ? sample.tokens.indexOf(0) + 1 : 24)
          expect(furthest(sample.logprobs, scores[i]!.logprobs)).toBeLessThan(1e-4)
          expect(furthest(sample.entropies, scores[i]!.entropies)).toBeLessThan(1e-4)
        })
        expect(new Set(out.map(({ finish }) => finish))).toContain('stop')
      }
    },
  )

  test('a layer with a sliding window attends to that many tokens, across the end of the prompt', async () => {
    const spec = { ...SPEC, layers: 1, local: { window: 3, layers: [0] } }
    await open(spec)
    const tokens = randomTokens(spec, 12, 1)
    const logprobs = async (changed?: number): Promise<Float32Array> => {
      const given = tokens.map((token, i) => (i === changed ? (token + 1) % spec.vocabulary : token))
      const sequence = { conditioning: given.slice(0, 6), completion: given.slice(6) }
      return (await of().score({ sequences: [sequence], temperature: 1 }))[0]!.logprobs
    }
    const before = await logprobs()
    for (const changed of [2, 3, 4, 5, 7]) {
      const after = await logprobs(changed)
      // A token is predicted from the three before it.
      const moved = tokens.slice(6).map((_, t) => Number(before[t] !== after[t]))
      expect([...moved], `token ${changed}`).toEqual(
        Array.from(moved, (_, t) => {
          const at = 6 + t
          return Number(at >= changed && at - changed <= 3)
        }),
      )
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

  test('a sequence that is continued from what it wrote goes on as if it had not been interrupted', async () => {
    await open()
    const prompt = randomTokens(SPEC, 6, 1)
    const settings = { temperature: 1, topP: 0.95, stopTokens: [] }
    const [whole] = await of().generate({ samples: [{ prompt, seed: 7 }], maxNewTokens: 16, ...settings })
    const written = whole!.tokens.slice(0, 9)
    const resumed = { prompt: Int32Array.from([...prompt, ...written]), seed: 7, drawn: 9 }
    const [rest] = await of().generate({ samples: [resumed], maxNewTokens: 7, ...settings })
    expect([...written, ...rest!.tokens]).toEqual([...whole!.tokens])
  })

  test('sequences may have fewer new tokens than the rest, and then longer prompts', async () => {
    await open()
    const settings = { temperature: 1, stopTokens: [] }
    const [short, long] = [randomTokens(SPEC, 4, 1), randomTokens(SPEC, 90, 2)]
    const samples = [
      { prompt: long, seed: 3, maxNewTokens: 6 },
      { prompt: short, seed: 4, maxNewTokens: 1 },
      { prompt: short, seed: 5 },
    ]
    const out = await of().generate({ samples, maxNewTokens: 40, ...settings })
    expect(out.map(({ tokens, finish }) => [tokens.length, finish])).toEqual([
      [6, 'length'],
      [1, 'length'],
      [40, 'length'],
    ])
    const [alone] = await of().generate({ samples: [samples[0]!], maxNewTokens: 6, ...settings })
    expect(out[0]!.tokens).toEqual(alone!.tokens)
    for (const maxNewTokens of [0, 1.5, 7])
      await expect(
        of().generate({ samples: [{ prompt: long, seed: 3, maxNewTokens }], maxNewTokens: 40, ...settings }),
      ).rejects.toMatchObject({ code: 'E_ENGINE' })
  })

  test('a stop string ends a sequence with the token that completes it, wherever the tokens are cut', async () => {
    await open()
    // Three letters in turn, some of them two to a token.
    const pieces = Array.from({ length: SPEC.vocabulary }, (_, id) =>
      'abcab'.slice(id % 3, (id % 3) + 1 + (id % 2)),
    )
    await of().open({ spec: SPEC, weights: randomWeights(SPEC, 1), pieces })
    const samples = Array.from({ length: 12 }, (_, seed) => ({ prompt: randomTokens(SPEC, 4, seed), seed }))
    const settings = { samples, maxNewTokens: 5, temperature: 1, stopTokens: [] }
    const textOf = ({ tokens }: Pick<Sample, 'tokens'>): string =>
      Array.from(tokens, (id) => pieces[id]).join('')
    const free = await of().generate(settings)
    const stopped = await of().generate({ ...settings, stopStrings: ['cab', 'bbb'] })
    stopped.forEach((sample, i) => {
      const all = textOf(free[i]!)
      const found = ['cab', 'bbb'].map((stop) => all.indexOf(stop)).filter((at) => at >= 0)
      expect(sample.finish).toBe(found.length > 0 ? 'stop' : 'length')
      // The same tokens as without, up to the first that completes one.
      expect([...sample.tokens]).toEqual([...free[i]!.tokens.slice(0, sample.tokens.length)])
      if (found.length === 0) return
      expect(textOf(sample).length).toBeGreaterThanOrEqual(Math.min(...found) + 3)
      expect(textOf({ tokens: sample.tokens.slice(0, -1) }).length).toBeLessThan(Math.min(...found) + 3)
    })
    expect(new Set(stopped.map(({ finish }) => finish)).size).toBe(2)
    await open()
    await expect(of().generate({ ...settings, stopStrings: ['cab'] })).rejects.toMatchObject({
      code: 'E_ENGINE',
    })
  })

  test('what is sampled says which version of the weights wrote it', async () => {
    const settings = {
      samples: [{ prompt: randomTokens(SPEC, 4, 1), seed: 1 }],
      maxNewTokens: 2,
      temperature: 1,
      stopTokens: [],
    }
    const weights = randomWeights(SPEC, 1)
    const versions = async () => (await of().generate(settings)).map(({ version }) => version)
    await of().open({ spec: SPEC, weights, version: 7 })
    expect(await versions()).toEqual([7])
    await of().setWeights(weights, 9)
    expect(await versions()).toEqual([9])
    await of().setWeights(weights)
    expect(await versions()).toEqual([9])
  })

  test("the policy's own log-prob is reported beside that of the distribution drawn from", async () => {
    await open()
    const samples = [1, 2, 3].map((seed) => ({ prompt: randomTokens(SPEC, 5, seed), seed }))
    const out = await of().generate({ samples, maxNewTokens: 12, temperature: 0.6, topK: 5, stopTokens: [] })
    const scores = await of().score({
      sequences: out.map(({ tokens }, i) => ({ conditioning: samples[i]!.prompt, completion: tokens })),
      temperature: 1,
    })
    out.forEach(({ policyLogprobs, logprobs }, i) => {
      expect(furthest(policyLogprobs, scores[i]!.logprobs)).toBeLessThan(1e-4)
      // What is drawn from has fewer tokens, so each is likelier.
      expect(logprobs.reduce((a, b) => a + b, 0)).toBeGreaterThan(policyLogprobs.reduce((a, b) => a + b, 0))
    })
  })

  test('settings of sampling that make no sense are refused', async () => {
    await open()
    const samples = [{ prompt: randomTokens(SPEC, 3, 1), seed: 1 }]
    const wrong = [
      { temperature: -1 },
      { temperature: Number.NaN },
      { topK: 0 },
      { topP: 0 },
      { topP: 1.1 },
      { minP: 2 },
    ]
    for (const sampling of wrong) {
      const call = of().generate({ samples, maxNewTokens: 2, stopTokens: [], temperature: 1, ...sampling })
      await expect(call).rejects.toThrow(/cannot be/)
    }
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

  test('what tells nothing apart finds every token as likely', async () => {
    await open()
    const zeros = Object.entries(await of().weights()).map(([name, { length }]) => [
      name,
      new Float32Array(length),
    ])
    await of().setWeights(Object.fromEntries(zeros))
    const sequences = raggedGroups(SPEC, 8, [4, 2])
    for (const { logprobs, entropies, collisions } of await of().score({ sequences, temperature: 1 })) {
      for (const value of logprobs) expect(value).toBeCloseTo(-Math.log(SPEC.vocabulary), 5)
      for (const value of entropies) expect(value).toBeCloseTo(Math.log(SPEC.vocabulary), 5)
      for (const value of collisions) expect(value).toBeCloseTo(1 / SPEC.vocabulary, 6)
    }
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
