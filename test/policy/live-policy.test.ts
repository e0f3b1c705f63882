// A policy whose sampler is no trainer: all it can do is to write, and to take on weights.

import { expect, test } from 'vitest'
import type { Sample, Sampler } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { type LivePolicy, openPolicy } from '../../daemon/policy/live-policy.ts'
import type { Model } from '../../daemon/policy/model.ts'
import { stepOf } from '../conformance/engine-cases.ts'
import { randomTokens, randomWeights, SPEC, tokenBytes } from '../engine/model.ts'

test('a sampler that can neither train nor score is enough; the trainer scores, and hands it its weights', async () => {
  const [engine, trainer] = [createOnnxEngine({ threads: 1 }), createOnnxEngine({ threads: 1 })]
  const sampler: Sampler = {
    info: engine.info,
    open: engine.open,
    generate: engine.generate,
    setWeights: engine.setWeights,
    close: engine.close,
  }
  const model = {
    spec: SPEC,
    weights: randomWeights(SPEC, 1),
    digest: 'a',
    tokenizer: { digest: 'b', tokenBytes },
  }
  const policy = await openPolicy({ model: model as unknown as Model }, { sampler, trainer })
  const conditioning = randomTokens(SPEC, 4, 1)
  const write = async () => {
    const request = { maxNewTokens: 8, temperature: 1, stopTokens: [] }
    const [sample] = await policy.sampler.generate({
      ...request,
      samples: [{ prompt: conditioning, seed: 1 }],
    })
    return sample!
  }
  const scoresOf = async (completion: Int32Array) =>
    (await policy.scorer.score({ sequences: [{ conditioning, completion }], temperature: 1 }))[0]!.logprobs

  const before = await write()
  const reported = [...before.logprobs]
  for (const [i, logprob] of (await scoresOf(before.tokens)).entries())
    expect(logprob).toBeCloseTo(reported[i]!, 4)

  const columns = { advantage: 1, proximal: before.logprobs }
  const step = stepOf([{ conditioning, completion: before.tokens, columns }])
  await policy.trainer.train({ ...step, optimizer: { ...step.optimizer, learningRate: 0.05 } })
  await policy.advance(1)
  const after = await write()
  expect(after.version).toBe(1)
  expect([...after.logprobs]).not.toEqual(reported)
  for (const [i, logprob] of (await scoresOf(after.tokens)).entries())
    expect(logprob).toBeCloseTo(after.logprobs[i]!, 4)
  await policy.close()
})

test('weights that peers had a part in age no rollouts: only own steps make a version', async () => {
  const engine = createOnnxEngine({ threads: 1 })
  const weights = randomWeights(SPEC, 1)
  const model = {
    spec: SPEC,
    weights,
    digest: 'a',
    tokenizer: { digest: 'b', tokenBytes },
  } as unknown as Model
  const policy = await openPolicy({ model }, { sampler: engine, trainer: engine })
  const others = randomWeights(SPEC, 2)
  await policy.replace(others)
  expect(policy.reference().version).toBe(0)
  expect(policy.changes).toBe(1)
  expect(await policy.trainer.weights()).toEqual(others)
  await policy.close()
})

test('answers end with the texts that the policy was opened with, unless a request has its own', async () => {
  const engine = createOnnxEngine({ threads: 1 })
  const pieces = (vocabulary: number) => Array.from({ length: vocabulary }, (_, id) => `<${id}>`)
  const model = {
    ...{ spec: SPEC, weights: randomWeights(SPEC, 1), digest: 'a' },
    tokenizer: { digest: 'b', pieces, tokenBytes },
  } as unknown as Model
  const write = async (policy: LivePolicy, stopStrings?: string[]) => {
    const request = { maxNewTokens: 12, temperature: 1, stopTokens: [], ...(stopStrings && { stopStrings }) }
    const samples = [{ prompt: randomTokens(SPEC, 4, 1), seed: 1 }]
    const [{ tokens, finish }] = (await policy.sampler.generate({ ...request, samples })) as [Sample]
    return { tokens: [...tokens], finish }
  }
  const parts = { sampler: engine, trainer: engine }
  const plain = await write(await openPolicy({ model, stopStrings: true }, parts))
  expect(plain).toMatchObject({ finish: 'length', tokens: { length: 12 } })
  const [fourth, seventh] = [plain.tokens[3]!, plain.tokens[6]!]

  const policy = await openPolicy({ model, stop: [`<${fourth}>`] }, parts)
  const end = plain.tokens.indexOf(fourth) + 1
  expect(await write(policy)).toEqual({ finish: 'stop', tokens: plain.tokens.slice(0, end) })
  const later = plain.tokens.indexOf(seventh) + 1
  expect(await write(policy, [`<${seventh}>`])).toEqual({
    finish: 'stop',
    tokens: plain.tokens.slice(0, later),
  })
  await policy.close()
})

test('weights that the trainer refuses keep nobody waiting who has texts scored', async () => {
  const [engine, trainer] = [createOnnxEngine({ threads: 1 }), createOnnxEngine({ threads: 1 })]
  const { info, open, generate, setWeights, close } = engine
  const model = {
    spec: SPEC,
    weights: randomWeights(SPEC, 1),
    digest: 'a',
    tokenizer: { digest: 'b', tokenBytes },
  }
  const policy = await openPolicy(
    { model: model as unknown as Model },
    { sampler: { info, open, generate, setWeights, close }, trainer },
  )
  const scored = () =>
    policy.scorer.score({
      sequences: [{ conditioning: Int32Array.of(1), completion: Int32Array.of(2) }],
      temperature: 1,
    })
  const [before] = await scored()
  await expect(policy.under({}, async () => {})).rejects.toThrow()
  expect((await scored())[0]!.logprobs).toEqual(before!.logprobs)
  await policy.close()
})
