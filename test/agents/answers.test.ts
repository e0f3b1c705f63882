// How answers reach the sampler: each at once, each with an end of its own.

import { expect, test } from 'vitest'
import { createAnswers } from '../../daemon/agents/writing/answers.ts'
import type { GenerateOptions, GenerateRequest, Sample } from '../../daemon/engine/engine.ts'

const sampleOf = (tokens: readonly number[], finish: Sample['finish']): Sample => ({
  tokens: Int32Array.from(tokens),
  logprobs: Float32Array.from(tokens, (token) => -token),
  policyLogprobs: Float32Array.from(tokens, (token) => -token),
  entropies: new Float32Array(tokens.length),
  finish,
  version: 0,
})

/** Answers on a sampler that the test plays. */
function open() {
  const calls: {
    request: GenerateRequest
    options: GenerateOptions
    cuts: number[]
    end(sample: Sample): void
  }[] = []
  const sampled: { seconds: number; tokens: number }[] = []
  const clock = { now: 0 }
  const answers = createAnswers(
    { temperature: 0.5, stopTokens: [7] },
    {
      sampler: {
        generate(request, options = {}) {
          const { promise, resolve } = Promise.withResolvers<Sample[]>()
          const cuts: number[] = []
          options.control?.listen((samples) => void cuts.push(...samples))
          options.signal?.addEventListener('abort', () => resolve([sampleOf([], 'aborted')]))
          calls.push({ request, options, cuts, end: (sample) => resolve([sample]) })
          return promise
        },
      },
      seed: () => 42 + calls.length,
      monotonic: () => clock.now,
      onSampled: (answer) => void sampled.push(answer),
    },
  )
  const write = (onToken: (token: number) => boolean = () => false) =>
    answers.write({
      ...{ prompt: Int32Array.of(1, 2), maxNewTokens: 9, onToken },
      signal: new AbortController().signal,
    })
  return { answers, write, calls, sampled, clock }
}

test('an answer goes to the sampler at once, whatever else is being written', async () => {
  const { answers, write, calls, sampled, clock } = open()
  const [first, second] = [write(), write()]
  expect(calls.map(({ request }) => request.samples)).toEqual([
    [{ prompt: Int32Array.of(1, 2), seed: 42 }],
    [{ prompt: Int32Array.of(1, 2), seed: 43 }],
  ])
  expect(calls[0]!.request).toMatchObject({ maxNewTokens: 9, temperature: 0.5, stopTokens: [7] })
  expect(answers.size).toBe(2)
  clock.now = 2000
  calls[1]!.end(sampleOf([3, 7], 'stop'))
  expect([...(await second).tokens]).toEqual([3, 7])
  expect([answers.size, sampled]).toEqual([1, [{ seconds: 2, tokens: 2 }]])
  calls[0]!.end(sampleOf([4], 'length'))
  expect((await first).finish).toBe('length')
})

test('an answer that is stopped is cut, and tokens drawn before the cut arrived are left out', async () => {
  const { write, calls } = open()
  const seen: number[] = []
  const answer = write((token) => {
    seen.push(token)
    return token === 5
  })
  const { options, cuts, end } = calls[0]!
  for (const token of [3, 5, 6]) options.onToken?.({ sample: 0, token, logprob: -token, entropy: 1 })
  expect(cuts).toEqual([0])
  end(sampleOf([3, 5, 6], 'aborted'))
  const { tokens, logprobs, finish } = await answer
  expect([[...tokens], [...logprobs], finish]).toEqual([[3, 5], [-3, -5], 'stop'])
  expect(seen).toEqual([3, 5])
})

test('closing ends all answers, and later ones are refused', async () => {
  const { answers, write } = open()
  const [first, second] = [write(), write()]
  await answers.close()
  expect([(await first).finish, (await second).finish]).toEqual(['aborted', 'aborted'])
  await expect(write()).rejects.toThrow(/is stopping/)
})
