// Inference servers, as a real HTTP server that answers in the shapes that they document.

import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import {
  createHttpBackEnd,
  createServer,
  llamaServer,
  sglang,
  vllm,
} from '../../daemon/sampler/http/index.ts'
import { createTurns } from '../../daemon/sampler/http/turns.ts'
import type { Line } from '../../daemon/sampler/index.ts'

interface Got {
  path: string
  body: Record<string, unknown>
  headers: IncomingMessage['headers']
}
type Answer = { status?: number; body: unknown; headers?: Record<string, string> }

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function serve(answer: (got: Got) => Answer | 'nothing') {
  const got: Got[] = []
  const http = createHttpServer(async (request, response) => {
    const pieces = await request.toArray()
    const text = Buffer.concat(pieces).toString()
    const one = { path: request.url!, body: text ? JSON.parse(text) : {}, headers: request.headers }
    got.push(one)
    const answered = answer(one)
    if (answered === 'nothing') return
    const { status = 200, body, headers = {} } = answered
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    http.closeAllConnections()
    http.close()
  })
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, got }
}

const sleep = async (): Promise<void> => {}
const reach = (url: string, key?: string) => createServer({ url, key }, { fetch, sleep })

function lineOf(signal = new AbortController().signal) {
  const taken: [number, number][] = []
  const ended: string[] = []
  const line: Line = {
    ...{ prompt: Int32Array.of(5, 6), seed: 9, maxNewTokens: 3, signal },
    take(token, logprob) {
      taken.push([token, logprob])
      return token === 2
    },
    end: (finish) => void ended.push(finish),
  }
  return { line, taken, ended }
}

const vllmAnswer = (tokens: number[], logprobs: unknown[], finish = 'stop') => ({
  id: 'cmpl-1',
  object: 'text_completion',
  choices: [
    {
      index: 0,
      text: 'x',
      logprobs: { text_offset: [], token_logprobs: logprobs, tokens: [], top_logprobs: [] },
      finish_reason: finish,
      stop_reason: 2,
      token_ids: tokens,
      prompt_token_ids: [5, 6],
    },
  ],
  usage: { prompt_tokens: 2, total_tokens: 4 },
})
const sglangAnswer = (tokens: number[], logprobs: number[]) => ({
  text: 'x',
  output_ids: tokens,
  meta_info: {
    id: 'a',
    finish_reason: { type: 'stop', matched: 2 },
    prompt_tokens: 2,
    completion_tokens: tokens.length,
    output_token_logprobs: tokens.map((token, i) => [logprobs[i], token, null]),
  },
})
const llamaAnswer = (tokens: number[], logprobs: number[]) => ({
  index: 0,
  content: 'x',
  tokens,
  stop: true,
  stop_type: 'eos',
  tokens_predicted: tokens.length,
  truncated: false,
  completion_probabilities: logprobs.map((logprob, i) => ({
    ...{ id: tokens[i], token: 'x', bytes: [120], logprob },
    top_logprobs: [{ id: tokens[i], token: 'x', bytes: [120], logprob }],
  })),
})

test('vLLM: token ids in and out, no truncation, and the adapter loaded by its path', async () => {
  const { url, got } = await serve(({ path }) =>
    path === '/v1/completions'
      ? { body: vllmAnswer([7, 2], [-0.5, -1]) }
      : { body: 'Success: LoRA adapter added successfully.' },
  )
  const backEnd = createHttpBackEnd({ dialect: vllm, url, parallel: 2 }, { server: reach(url, 'secret') })
  const adapter = await backEnd.load({ path: '/shared/a', name: 'waggle-1-v0' })
  const { line, taken, ended } = lineOf()
  await adapter.write([line], { temperature: 1, stopTokens: [2] })
  await adapter.release()
  expect(taken).toEqual([
    [7, -0.5],
    [2, -1],
  ])
  expect(ended).toEqual([])
  expect(got.map(({ path }) => path)).toEqual([
    '/v1/load_lora_adapter',
    '/v1/completions',
    '/v1/unload_lora_adapter',
  ])
  expect(got[0]!.body).toEqual({ lora_name: 'waggle-1-v0', lora_path: '/shared/a' })
  expect(got[0]!.headers.authorization).toBe('Bearer secret')
  expect(got[1]!.body).toEqual({
    ...{ model: 'waggle-1-v0', prompt: [5, 6], seed: 9, max_tokens: 3, temperature: 1, stop_token_ids: [2] },
    ...{ ignore_eos: true, logprobs: 1, return_token_ids: true, top_p: 1, top_k: 0, min_p: 0 },
    ...{ repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
  })
})

test('SGLang: the same through its own API', async () => {
  const { url, got } = await serve(({ path }) =>
    path === '/generate' ? { body: sglangAnswer([7, 2], [-0.5, -1]) } : { body: { success: true } },
  )
  const backEnd = createHttpBackEnd({ dialect: sglang, url, parallel: 2 }, { server: reach(url) })
  const adapter = await backEnd.load({ path: '/shared/a', name: 'waggle-1-v0' })
  const { line, taken } = lineOf()
  await adapter.write([line], { temperature: 0, stopTokens: [2] })
  expect(taken).toEqual([
    [7, -0.5],
    [2, -1],
  ])
  expect(got[0]).toMatchObject({
    path: '/load_lora_adapter',
    body: { lora_name: 'waggle-1-v0', lora_path: '/shared/a' },
  })
  expect(got[1]!.body).toMatchObject({
    ...{ input_ids: [5, 6], lora_path: 'waggle-1-v0', return_logprob: true },
    sampling_params: {
      temperature: 0,
      max_new_tokens: 3,
      top_p: 1,
      top_k: -1,
      min_p: 0,
      repetition_penalty: 1,
    },
  })
})

test('SGLang: an adapter that it cannot load is an error with its reason', async () => {
  const { url } = await serve(() => ({
    status: 400,
    body: { success: false, error_message: 'rank too large' },
  }))
  const backEnd = createHttpBackEnd({ dialect: sglang, url, parallel: 2 }, { server: reach(url) })
  await expect(backEnd.load({ path: '/a', name: 'b' })).rejects.toMatchObject({
    code: 'E_SAMPLER',
    message: expect.stringContaining('rank too large'),
  })
})

test('llama-server: is restarted with each adapter, and reports log-probs before any sampler', async () => {
  const { url, got } = await serve(({ path }) =>
    path === '/completion'
      ? { body: llamaAnswer([7, 2], [-0.5, -1]) }
      : { body: path === '/v1/models' ? { data: [{ id: 'm', meta: { n_vocab: 23 } }] } : { status: 'ok' } },
  )
  const restarted: string[] = []
  const restart = async (path: string) => void restarted.push(path)
  const dialect = llamaServer({ restart, sleep })
  const backEnd = createHttpBackEnd({ dialect, url, parallel: 2 }, { server: reach(url) })
  const adapter = await backEnd.load({ path: '/a.gguf', name: 'b' })
  const { line, taken } = lineOf()
  await adapter.write([line], { temperature: 1, stopTokens: [2] })
  expect(restarted).toEqual(['/a.gguf'])
  expect(taken).toEqual([
    [7, -0.5],
    [2, -1],
  ])
  expect(got.at(-1)!.body).toMatchObject({
    ...{ prompt: [5, 6], n_predict: 3, n_probs: 1, post_sampling_probs: false, return_tokens: true },
    ...{ samplers: ['temperature'], top_k: 0, top_p: 1, min_p: 0, repeat_penalty: 1 },
  })
})

test('llama-server: a sequence without all log-probs is left out', async () => {
  const { url } = await serve(({ path }) =>
    path === '/completion'
      ? { body: llamaAnswer([7, 8, 2], [-0.5, -1]) }
      : { body: { data: [{ meta: { n_vocab: 23 } }] } },
  )
  const dialect = llamaServer({ restart: sleep, sleep })
  const backEnd = createHttpBackEnd({ dialect, url, parallel: 2 }, { server: reach(url) })
  const { line, taken, ended } = lineOf()
  await (await backEnd.load({ path: '/a.gguf', name: 'b' })).write([line], {
    temperature: 1,
    stopTokens: [2],
  })
  expect([taken, ended]).toEqual([[], []])
})

test.each([
  ['no JSON', { body: '<html>' }, /is not as expected/],
  ['an empty object', { body: {} }, /choices/],
  ['no token ids', { body: vllmAnswer(null as never, [-1]) }, /token_ids/],
  ['a negative token', { body: vllmAnswer([-1], [-1]) }, /token_ids/],
  ['a log-prob that is null', { body: vllmAnswer([7], [null]) }, /token_logprobs/],
  ['fewer log-probs than tokens', { body: vllmAnswer([7, 8], [-1]) }, /2 tokens and 1 log-probs/],
  ['an unknown end', { body: vllmAnswer([7], [-1], 'error\u001b[31m') }, /finish_reason/],
  ['a body without end', { body: 'x'.repeat(17 * 1024 * 1024) }, /more than 16777216 bytes/],
  [
    'a redirect',
    { status: 307, body: '', headers: { location: 'http://127.0.0.1:1/' } },
    /cannot be reached/,
  ],
  ['a wrong key', { status: 401, body: { error: 'no' } }, /status 401/],
] as [string, Answer, RegExp][])('an answer with %s is refused in words', async (_, answer, message) => {
  const { url } = await serve(({ path }) => (path === '/v1/completions' ? answer : { body: 'ok' }))
  const backEnd = createHttpBackEnd({ dialect: vllm, url, parallel: 2 }, { server: reach(url) })
  const adapter = await backEnd.load({ path: '/a', name: 'b' })
  const failed = adapter.write([lineOf().line, lineOf().line], { temperature: 1, stopTokens: [2] })
  await expect(failed).rejects.toMatchObject({ code: 'E_SAMPLER', message: expect.stringMatching(message) })
  await expect(failed).rejects.not.toThrow('\u001b')
})

test('a busy server is asked again; one that is gone is named', async () => {
  let busy = 2
  const { url, got } = await serve(() => (busy-- > 0 ? { status: 503, body: '' } : { body: { data: [] } }))
  await vllm.open(reach(url))
  expect(got).toHaveLength(3)
  await expect(vllm.open(reach('http://127.0.0.1:1'))).rejects.toMatchObject({
    code: 'E_SAMPLER',
    message: expect.stringMatching(/127\.0\.0\.1:1 cannot be reached/),
  })
})

test('no more requests run at a time than configured, and an abort ends those that run', async () => {
  let running = 0
  let most = 0
  const { url } = await serve(({ path }) => {
    if (path !== '/v1/completions') return { body: 'ok' }
    running += 1
    most = Math.max(most, running)
    return 'nothing'
  })
  const backEnd = createHttpBackEnd({ dialect: vllm, url, parallel: 3 }, { server: reach(url) })
  const adapter = await backEnd.load({ path: '/a', name: 'b' })
  const abort = new AbortController()
  const lines = Array.from({ length: 8 }, () => lineOf(abort.signal))
  const done = adapter.write(
    lines.map(({ line }) => line),
    { temperature: 1, stopTokens: [2] },
  )
  while (running < 3) await new Promise((resolve) => setImmediate(resolve))
  abort.abort()
  await done
  expect(most).toBe(3)
  expect(lines.every(({ taken, ended }) => taken.length + ended.length === 0)).toBe(true)
})

test('a short call does not wait for the end of a long one', async () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const turns = createTurns(2)
  const ask = (name: string, count: number) => {
    const inTurn = turns()
    for (let i = 0; i < count; i++) {
      void inTurn(async () => {
        begun.push(name)
        await new Promise<void>((end) => ends.push(end))
      })
    }
  }
  ask('long', 6)
  ask('short', 2)
  for (let i = 0; i < 6; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    ends.shift()!()
  }
  expect(begun.slice(0, 6)).toEqual(['long', 'long', 'short', 'long', 'short', 'long'])
})
