// The gateway on a real engine with the model of three tasks: what is recorded is what was sampled.

import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AgentGateway, offeredModel, openGateway } from '../../daemon/agents/index.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import type { ChatMessage } from '../../daemon/policy/chat/template.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { nodeDisk } from '../../daemon/store/node-disk.ts'
import type { Group } from '../../protocol/train/index.ts'

const FOLDER = join(resolve(import.meta.dirname, '../..'), 'models/three-tasks')
const groups: Group[] = []
let model: Model
let engine: Engine
let gateway: AgentGateway

beforeAll(async () => {
  model = await loadModel(FOLDER, { disk: nodeDisk })
  engine = createOnnxEngine({ threads: 1 })
  await engine.open({ ...model, tokenBytes: model.tokenizer.tokenBytes(model.spec.vocabulary) })
  gateway = await openGateway(
    {
      ...{
        listen: '127.0.0.1:0',
        strict: false,
        enforces: true,
        rolloutSeconds: 600,
        maxOpen: 64,
        groupSize: 4,
      },
      ...{ temperature: 1, maxNewTokens: 160, author: 'self' },
      ...offeredModel(model, { model: 'three-tasks' }),
    },
    {
      ...{
        token: () => 'token-of-the-test',
        serving: { answer: async () => {} },
        environments: [],
        tokenizer: model.tokenizer,
        sampler: engine,
        randomBytes,
      },
      policy: () => ({ lineage: model.digest, tokenizer: model.tokenizer.digest, version: 0 }),
      ...{ isThrownAway: () => false, hasRoom: () => true, isTask: () => false, changed: createWaker() },
      onGroup: async (group) => void groups.push(group),
      ...{ onSampled: () => {}, log: () => {}, now: Date.now, monotonic: () => performance.now() },
      after(ms, run) {
        const timer = setTimeout(run, ms)
        return () => clearTimeout(timer)
      },
    },
  )
})
afterAll(async () => {
  await gateway.close()
  await engine.close()
})

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
async function post(path: string, body: unknown, key = 'token-of-the-test'): Promise<any> {
  const response = await fetch(path.startsWith('http') ? path : gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return response.json()
}

it('five turns of a conversation are one sequence whose log-probs equal their score to 1e-4', async () => {
  const play = async (value: number) => {
    const { id, base_url: url, api_key: key } = await post('/v1/rollouts', { prompt_id: 'one' })
    const messages: ChatMessage[] = [{ role: 'user', content: 'Work out 4 + 35' }]
    for (let turn = 0; turn < 5; turn++) {
      const reply = await post(
        `${url}/chat/completions`,
        { messages, max_tokens: 30, return_token_ids: true },
        key,
      )
      const { choices, usage, prompt_token_ids: prompt } = reply
      // The first prompt is what the template writes; a later one has the sampled tokens in it.
      if (turn === 0) expect(prompt).toEqual([...model.tokenizer.encodeChat(messages, { prompt: true })])
      // Only the newest message and the last token of the answer before it are read.
      const unread = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens
      if (turn > 1) expect(unread).toBeLessThan(usage.prompt_tokens / 2)
      messages.push(choices[0].message, {
        role: turn % 2 ? 'user' : 'tool',
        content: 'no; again',
        tool_call_id: 'x',
      })
    }
    await post(`/v1/rollouts/${id}/reward`, { value })
  }
  await Promise.all([play(1), play(0), play(0.5), play(0)])
  const { conditioning, rollouts } = groups[0]!
  expect(rollouts.map(({ turns }) => turns?.length)).toEqual([5, 5, 5, 5])
  const sequences = rollouts.map(({ tokens }) => ({ conditioning, completion: tokens }))
  const scores = await engine.score({ sequences, temperature: 1 })
  for (const [i, { behaviourLogprobs, lossMask }] of rollouts.entries())
    for (const [t, mine] of lossMask!.entries())
      if (mine) expect(Math.abs(behaviourLogprobs![t]! - scores[i]!.logprobs[t]!)).toBeLessThan(1e-4)
}, 120_000)

it('calls of every interface, streamed or with kept keys and values, have the log-probs of their score to 1e-4', async () => {
  const { id, base_url: url, api_key: key } = await post('/v1/rollouts', { mode: 'eval' })
  const asked: ChatMessage[] = [{ role: 'user', content: 'Work out 12 + 30' }]
  const streamed = async (path: string, body: object): Promise<void> => {
    const headers = { authorization: `Bearer ${key}` }
    const request = { method: 'POST', headers, body: JSON.stringify({ ...body, stream: true }) }
    expect(await (await fetch(url + path, request)).text()).toMatch(/"token_ids":\[\d/)
  }
  const { choices } = await post(`${url}/chat/completions`, { messages: asked }, key)
  await streamed('/chat/completions', { messages: [...asked, choices[0].message, asked[0]] })
  const { id: first } = await post(`${url}/responses`, { input: 'Work out 7 + 8' }, key)
  await streamed('/responses', { input: 'and 9 + 9', previous_response_id: first })
  await post(`${url}/completions`, { prompt: 'Work out', max_tokens: 9 }, key)
  const tokens = [...model.tokenizer.encodeChat(asked, { prompt: true })]
  await post('/inference/v1/generate', { token_ids: tokens, sampling_params: { max_tokens: 12 } }, key)

  const response = await fetch(`${gateway.url}/v1/rollouts/${id}/calls`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const { calls } = (await response.json()) as {
    calls: { prompt_token_ids: number[]; token_ids: number[]; logprobs: number[] }[]
  }
  expect(calls).toHaveLength(6)
  const sequences = calls.map(({ prompt_token_ids: prompt, token_ids: answer }) => ({
    conditioning: Int32Array.from(prompt),
    completion: Int32Array.from(answer),
  }))
  const scores = await engine.score({ sequences, temperature: 1 })
  for (const [i, { logprobs }] of calls.entries())
    for (const [t, recorded] of logprobs.entries())
      expect(Math.abs(recorded - scores[i]!.logprobs[t]!)).toBeLessThan(1e-4)
}, 120_000)

it('an answer is JSON of its schema; what is trained on of it has the log-probs of its score, the rest is given', async () => {
  const schema = {
    type: 'object',
    properties: { sum: { type: 'integer', minimum: 0, maximum: 99 } },
    required: ['sum'],
    additionalProperties: false,
  }
  const format = { type: 'json_schema', json_schema: { name: 'sum', strict: true, schema } }
  const tools = [{ type: 'function', function: { name: 'look', parameters: schema, strict: true } }]
  const sums: unknown[] = []
  const play = async (value: number) => {
    const { id, base_url: url, api_key: key } = await post('/v1/rollouts', { prompt_id: 'formed' })
    const ask = (more: object) =>
      post(
        `${url}/chat/completions`,
        { messages: [{ role: 'user', content: 'Work out 4 + 35' }], ...more },
        key,
      )
    const formed = await ask({ response_format: format })
    sums.push(JSON.parse(formed.choices[0].message.content).sum)
    const called = await ask({ tools, tool_choice: 'required', parallel_tool_calls: false })
    sums.push(JSON.parse(called.choices[0].message.tool_calls[0].function.arguments).sum)
    await ask({ max_tokens: 30 })
    await post(`/v1/rollouts/${id}/reward`, { value })
  }
  await Promise.all([play(1), play(0), play(0.5), play(0)])
  expect(sums).toHaveLength(8)
  for (const sum of sums)
    expect(Number.isInteger(sum) && (sum as number) >= 0 && (sum as number) < 100).toBe(true)
  const { conditioning, rollouts } = groups.at(-1)!
  const sequences = rollouts.map((one) => ({
    conditioning: one.conditioning ?? conditioning,
    completion: one.tokens,
  }))
  const scores = await engine.score({ sequences, temperature: 1 })
  let [counted, given] = [0, 0]
  for (const [i, { behaviourLogprobs, lossMask }] of rollouts.entries())
    for (const [t, logprob] of behaviourLogprobs!.entries()) {
      const off = Math.abs(logprob - scores[i]!.logprobs[t]!)
      if (lossMask?.[t] === 0) given += Number(off > 1e-3)
      else {
        counted += 1
        expect(off).toBeLessThan(1e-4)
      }
    }
  expect([counted > 0, given > 0]).toEqual([true, true])
}, 120_000)
