// What the sampler asks vLLM for, by the schemas of vLLM's own request and answer classes (vllm.json).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { vllm } from '../../daemon/sampler/http/index.ts'
import type { Server } from '../../daemon/sampler/http/server.ts'

type Schema = { properties: Record<string, unknown> }
const { schemas } = JSON.parse(readFileSync(join(import.meta.dirname, 'vllm.json'), 'utf8')) as {
  schemas: Record<string, Schema>
}
const ajv = new Ajv({ strict: false, formats: { binary: true } })

/** What is wrong with it as an instance of that class; a field that vLLM does not know would be ignored there. */
function faults(name: string, body: object): unknown[] {
  const { properties } = schemas[name]!
  const unknown = Object.keys(body).filter((key) => !(key in properties))
  const accepts = ajv.compile(schemas[name]!)
  accepts(JSON.parse(JSON.stringify(body)))
  return [...unknown, ...(accepts.errors ?? [])]
}

/** What a dialect's call sends, as [path, body]. */
async function sent(call: (server: Server) => Promise<unknown>, answer: unknown = {}) {
  const calls: [string, object][] = []
  const server = {
    call: async ({ path, body }: { path: string; body: object }) => {
      calls.push([path, body])
      return answer
    },
  }
  await call(server as unknown as Server)
  return calls
}

test('a completion is asked for with fields that vLLM has, of its types', () => {
  const body = vllm.body({
    ...{ prompt: [5, 6], seed: 9, temperature: 1, maxNewTokens: 3, stopTokens: [2], adapter: 'a' },
  })
  expect(faults('CompletionRequest', body)).toEqual([])
  expect(faults('CompletionRequest', { ...body, top_q: 1 })).toEqual(['top_q'])
  expect(faults('CompletionRequest', { ...body, seed: 'x' })).not.toEqual([])
})

test('adapters and texts are sent as vLLM takes them', async () => {
  const adapter = { name: 'a', path: '/shared/a' }
  const asked = [
    ['LoadLoRAAdapterRequest', await sent((server) => vllm.load(server, adapter as never))],
    ['UnloadLoRAAdapterRequest', await sent((server) => vllm.unload(server, 'a'))],
    ['TokenizeCompletionRequest', await sent((server) => vllm.encode!(server, 'x'), { tokens: [1] })],
  ] as const
  for (const [name, [call]] of asked) expect([name, faults(name, call![1])]).toEqual([name, []])
})

test('an answer that vLLM can give is read', () => {
  const answer = {
    ...{ id: 'cmpl-1', object: 'text_completion', created: 1, model: 'a' },
    choices: [
      {
        ...{ index: 0, text: 'x', finish_reason: 'stop', stop_reason: 2, token_ids: [7, 2] },
        logprobs: {
          text_offset: [0, 1],
          token_logprobs: [-0.5, -1],
          tokens: ['x', ''],
          top_logprobs: [null, null],
        },
      },
    ],
    usage: { prompt_tokens: 2, total_tokens: 4, completion_tokens: 2 },
  }
  expect(faults('CompletionResponse', answer)).toEqual([])
  expect(vllm.read(answer)).toEqual({ tokens: [7, 2], logprobs: [-0.5, -1], finish: 'stop' })
  expect(faults('TokenizeResponse', { count: 1, max_model_len: 8, tokens: [1] })).toEqual([])
})
