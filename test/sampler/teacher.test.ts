// Servers as teachers: a real HTTP server that answers in the shapes that vLLM and llama.cpp document.

import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createServer, createServerTeacher } from '../../daemon/sampler/http/index.ts'

type Body = Record<string, unknown>
const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function teach(answer: (path: string, body: Body) => unknown) {
  const got: { path: string; body: Body }[] = []
  const http = createHttpServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const one = { path: request.url!, body: text ? (JSON.parse(text) as Body) : {} }
    got.push(one)
    response.end(JSON.stringify(answer(one.path, one.body)))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    http.closeAllConnections()
    http.close()
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const server = createServer({ url, key: undefined }, { fetch, sleep: async () => {} })
  return { got, teacher: createServerTeacher({ address: url, vocabulary: 10, parallel: 2 }, { server }) }
}

const sequences = [{ conditioning: Int32Array.of(1, 2), completion: Int32Array.of(3, 4) }]
const ask = { sequences, temperature: 1, top: 2 }

const place = (named: Record<number, number>) =>
  Object.fromEntries(
    Object.entries(named).map(([id, logprob], rank) => [id, { logprob, rank, decoded_token: 'x' }]),
  )
const vllm =
  (places: unknown[]) =>
  (path: string): unknown =>
    path === '/v1/models'
      ? { object: 'list', data: [{ id: 'teacher', owned_by: 'vllm' }] }
      : { id: 'cmpl-1', choices: [{ index: 0, text: 'x', prompt_logprobs: places }] }

test('vLLM scores an answer in one request, whose likeliest tokens are taken', async () => {
  // The token that is there comes as well if it is not among the likeliest.
  const said = [null, place({ 2: -0.1 }), place({ 5: -1, 3: -0.5 }), place({ 4: -6, 7: -0.2, 8: -3 })]
  const { teacher, got } = await teach(vllm(said))
  const [score] = await teacher.score(ask)
  expect([...score!.top!.tokens]).toEqual([3, 5, 7, 8])
  expect(score!.top!.count).toBe(2)
  expect([...score!.top!.logprobs]).toEqual([-0.5, -1, Math.fround(-0.2), -3])
  expect(got.map(({ path }) => path)).toEqual(['/v1/models', '/v1/completions'])
  expect(got[1]!.body).toMatchObject({ model: 'teacher', prompt: [1, 2, 3, 4], prompt_logprobs: 2 })
})

test("llama.cpp's server is asked place by place", async () => {
  const { teacher, got } = await teach((path, body) =>
    path === '/v1/models'
      ? { data: [{ id: 'm', owned_by: 'llamacpp', meta: { n_vocab: 10 } }] }
      : {
          content: 'x',
          completion_probabilities: [
            {
              id: 9,
              logprob: -1,
              top_logprobs: [
                { id: (body.prompt as number[]).length, logprob: -0.3 },
                { id: 9, logprob: -1 },
              ],
            },
          ],
        },
  )
  const [score] = await teacher.score(ask)
  expect([...score!.top!.tokens]).toEqual([2, 9, 3, 9])
  expect(got.slice(1).map(({ body }) => body.prompt)).toEqual([
    [1, 2],
    [1, 2, 3],
  ])
})

test.each([
  ['fewer tokens than asked for', [null, null, place({ 3: -1 }), place({ 3: -1 })], /names 1 tokens/],
  [
    'a token of another vocabulary',
    [null, null, place({ 3: -1, 12: -1 }), place({ 3: -1, 1: -1 })],
    /12, beyond/,
  ],
  ['another number of places', [null, null, place({ 3: -1, 1: -1 })], /1 of 2 tokens/],
  ['something else', ['x'], /not as expected/],
])('a server that says %s is refused', async (_, said, message) => {
  const { teacher } = await teach(vllm(said))
  await expect(teacher.score(ask)).rejects.toThrow(message)
})

test('a server cannot be asked at another temperature', async () => {
  const { teacher, got } = await teach(vllm([]))
  await expect(teacher.score({ ...ask, temperature: 0.7 })).rejects.toThrow('temperature 1')
  expect(got).toEqual([])
})

test('a server writes answers of its own, to be verified', async () => {
  const { teacher } = await teach((path) =>
    path === '/v1/models'
      ? { data: [{ id: 'teacher' }] }
      : { choices: [{ token_ids: [3, 2], logprobs: { token_logprobs: [-1, -2] }, finish_reason: 'stop' }] },
  )
  const [sample] = await teacher.generate({
    samples: [{ prompt: Int32Array.of(1), seed: 1 }],
    ...{ maxNewTokens: 4, temperature: 1, stopTokens: [2] },
  })
  expect([...sample!.tokens]).toEqual([3, 2])
  expect(sample!.finish).toBe('stop')
})
