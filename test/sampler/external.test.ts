// A sampler outside the node: here a second engine behind the contract of a back end, so that log-probs are real ones.

import { afterEach, expect, test } from 'vitest'
import { createControl } from '../../daemon/engine/control.ts'
import { adapterShapes } from '../../daemon/engine/decoder.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import type { Tokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import { type BackEnd, createExternalSampler } from '../../daemon/sampler/index.ts'
import { randomTokens, randomWeights, SPEC } from '../engine/model.ts'

const ADAPTED = { ...SPEC, adapter: { rank: 2, alpha: 4, targets: ['q_proj', 'v_proj'] as const } }
const END = 1
const tokenizer = {
  stopTokens: [END],
  encode: (text: string) => Int32Array.from(text, (letter) => letter.charCodeAt(0) % SPEC.vocabulary),
  encodePrompt: (text: string) => randomTokens(SPEC, 6, text.length),
  isSpecial: (token: number) => token === END,
} as unknown as Tokenizer

const open: Engine[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((engine) => engine.close()))
})
const newEngine = (): Engine => {
  const engine = createOnnxEngine({ threads: 1 })
  open.push(engine)
  return engine
}

/** What a version's adapter is: that of version 0 with noise of a seed. */
const weightsOf = (version: number): Weights => {
  const all = randomWeights(ADAPTED, 5 + version, 0.3)
  return Object.fromEntries([...adapterShapes(ADAPTED).keys()].map((name) => [name, all[name]!]))
}

interface Behaviour {
  /** What the back end does to an adapter before it uses it. */
  applies?: (weights: Weights) => Weights
  base?: Weights
  temperature?: number
  vocabulary?: number
  encode?: BackEnd['encode']
}

async function start(behaviour: Behaviour = {}, options: { every?: number; version?: number } = {}) {
  const base = randomWeights(SPEC, 1)
  const [trainer, writer] = [newEngine(), newEngine()]
  const files = new Map<string, Weights>()
  const notices: string[] = []
  const loaded: string[] = []
  const released: string[] = []
  /** Set to a message to have every call fail. */
  const down = { reason: undefined as string | undefined }
  const check = () => {
    if (down.reason) throw new Error(down.reason)
  }
  const backEnd: BackEnd = {
    info: writer.info,
    format: 'peft',
    async open() {
      await writer.open({ spec: ADAPTED, weights: { ...(behaviour.base ?? base), ...weightsOf(0) } })
      return { vocabulary: behaviour.vocabulary }
    },
    ...(behaviour.encode ? { encode: behaviour.encode } : {}),
    async load({ path, name }) {
      check()
      const weights = files.get(path)!
      const applied = behaviour.applies?.(weights) ?? weights
      loaded.push(name.replace(/^waggle-r-\d+-/, ''))
      return {
        async write(lines) {
          check()
          const live = lines.filter(({ signal }) => !signal.aborted)
          if (live.length === 0) return
          await writer.setWeights(applied)
          const samples = await writer.generate({
            samples: live.map(({ prompt, seed, maxNewTokens }) => ({ prompt, seed, maxNewTokens })),
            maxNewTokens: 64,
            temperature: behaviour.temperature ?? 1,
            stopTokens: [END],
          })
          for (const [i, { tokens, logprobs }] of samples.entries())
            tokens.every((token, k) => !live[i]!.signal.aborted && !live[i]!.take(token, logprobs[k]!))
        },
        async release() {
          released.push(name)
        },
      }
    },
    async close() {},
  }
  const sampler = createExternalSampler(
    { every: options.every ?? 1, tolerance: 0.01, tokenizer, seed: 3, run: 'r' },
    {
      backEnd,
      files: {
        async write(name, weights) {
          files.set(name, weights)
          return { path: name, name }
        },
        async remove({ path }) {
          files.delete(path)
        },
      },
      trainer,
      onNotice: (message) => notices.push(message),
    },
  )
  const opening = { spec: ADAPTED, weights: { ...base, ...weightsOf(0) }, version: options.version ?? 0 }
  const ready = Promise.all([sampler.open(opening), trainer.open(opening)])
  const advance = async (version: number, more = {}) => {
    await trainer.setWeights(weightsOf(version))
    await sampler.setWeights(weightsOf(version), version, more)
  }
  const write = () =>
    sampler.generate({
      samples: [1, 2].map((seed) => ({ prompt: randomTokens(SPEC, 5, seed), seed })),
      maxNewTokens: 8,
      temperature: 1,
      stopTokens: [END],
    })
  return { ready, sampler, trainer, files, notices, loaded, released, down, advance, write }
}

test('it is tested with the weights and with a test adapter, and the trainer keeps its weights', async () => {
  const { ready, trainer, notices, write } = await start()
  await ready
  expect(notices).toHaveLength(2)
  expect(notices[1]).toMatch(/^with a test adapter, which changes log-probs by \d/)
  expect(await trainer.weights()).toEqual(weightsOf(0))
  const samples = await write()
  expect(samples.map(({ version }) => version)).toEqual([0, 0])
  const prompts = [1, 2].map((seed) => randomTokens(SPEC, 5, seed))
  const scores = await trainer.score({
    sequences: samples.map(({ tokens }, i) => ({ conditioning: prompts[i]!, completion: tokens })),
    temperature: 1,
  })
  for (const [i, { logprobs }] of samples.entries())
    for (const [k, logprob] of logprobs.entries()) expect(logprob).toBeCloseTo(scores[i]!.logprobs[k]!, 4)
})

test.each([
  ['another model', { base: randomWeights(SPEC, 2) }, /differ by .* sampler\.tolerance is 0\.01/],
  ['another temperature', { temperature: 0.5 }, /differ by/],
  ['no adapter', { applies: () => weightsOf(0) }, /differ by/],
  ['another vocabulary', { vocabulary: 24 }, /has 24 tokens, and this node's 23/],
  ['another tokenizer', { encode: async () => [1, 2, 3] }, /splits text into other tokens/],
] as [string, Behaviour, RegExp][])('a sampler with %s is refused', async (_, behaviour, message) => {
  const { ready } = await start(behaviour)
  await expect(ready).rejects.toMatchObject({ code: 'E_SAMPLER', message: expect.stringMatching(message) })
})

test('adapters are loaded at the configured rhythm, and a roll-back at once', async () => {
  const { ready, loaded, advance, write, files, released } = await start({}, { every: 2 })
  await ready
  loaded.length = 0
  await advance(1)
  expect((await write())[0]!.version).toBe(0)
  await advance(2)
  expect((await write())[0]!.version).toBe(2)
  await advance(3)
  await advance(4, { isUrgent: true })
  await advance(5, { isUrgent: true })
  expect((await write())[0]!.version).toBe(5)
  expect(loaded).toEqual(['v2', 'v4', 'v5'])
  expect(files.size).toBe(1)
  expect(released).toHaveLength(4)
})

test('a server that is away does not stop the trainer, and writes again when it is back', async () => {
  const { ready, down, advance, write, notices } = await start()
  await ready
  down.reason = 'nobody answers'
  await expect(write()).rejects.toThrow('nobody answers')
  await advance(1)
  await advance(2)
  expect(notices.at(-1)).toBe('version 2 did not reach the sampler: nobody answers')
  await expect(write()).rejects.toThrow('nobody answers')
  down.reason = undefined
  expect((await write())[0]!.version).toBe(2)
})

test('nothing is written with an adapter that does not agree with the trainer', async () => {
  let lose = false
  const { ready, advance, write } = await start({ applies: (weights) => (lose ? weightsOf(0) : weights) })
  await ready
  lose = true
  await advance(1)
  await expect(write()).rejects.toMatchObject({ code: 'E_SAMPLER', message: expect.stringMatching(/differ/) })
  lose = false
  expect((await write())[0]!.version).toBe(1)
})

test('cut and aborted sequences end where they are', async () => {
  const { ready, sampler } = await start()
  await ready
  const control = createControl()
  control.cut([0])
  const request = {
    samples: [1, 2].map((seed) => ({ prompt: randomTokens(SPEC, 5, seed), seed })),
    ...{ maxNewTokens: 4, temperature: 1, stopTokens: [] },
  }
  const [first, second] = await sampler.generate(request, { control })
  expect(first).toMatchObject({ finish: 'aborted', tokens: new Int32Array(0) })
  expect(second!.finish).not.toBe('aborted')
  const aborted = await sampler.generate(request, { signal: AbortSignal.abort() })
  expect(aborted.map(({ finish }) => finish)).toEqual(['aborted', 'aborted'])
})

test('another distribution than the policy is refused', async () => {
  const { ready, sampler } = await start()
  await ready
  for (const sampling of [{ temperature: 0.7 }, { topK: 5 }, { topP: 0.9 }, { minP: 0.1 }]) {
    const request = { samples: [], maxNewTokens: 4, temperature: 1, stopTokens: [], ...sampling }
    await expect(sampler.generate(request)).rejects.toMatchObject({ code: 'E_SAMPLER' })
  }
})
