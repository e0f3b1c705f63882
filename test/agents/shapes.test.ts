// Shapes in which clients ask, beyond plain messages and functions, and how large an answer is that asks for nothing.

import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { type TestGateway, testGateway } from './gateway.ts'

const user = (content: unknown) => ({ role: 'user', content })
let g: TestGateway
afterEach(() => g.close())

/** As the command line client of OpenAI's Codex sends them. */
const NAMESPACE = {
  ...{ type: 'namespace', name: 'crew', description: 'Helpers.' },
  tools: [{ type: 'function', name: 'close', parameters: { type: 'object', properties: {} } }],
}
const PATCH = {
  ...{ type: 'custom', name: 'patch', description: 'Changes a file.' },
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "go"' },
}
const WEB = { type: 'web_search', external_web_access: false }

const callOf = (name: string, values: object): string =>
  `<tool_call>${JSON.stringify({ name, arguments: values })}</tool_call>`
const respond = async (body: object, strict = {}) => {
  const rollout = await g.open()
  return await g.post(`${rollout.base_url}/responses`, { input: 'go', ...strict, ...body }, rollout.api_key)
}

describe('tools of other kinds than functions', () => {
  it('are shown to the model as functions, and those that a server would run are left out and named', async () => {
    let shown = ''
    g = await testGateway({
      write(prompt) {
        shown = prompt
        return 'ok'
      },
    })
    const { status, headers } = await respond({ tools: [NAMESPACE, PATCH, WEB] })
    expect([status, headers.get('x-waggle-ignored')]).toEqual([200, 'tools.web_search'])
    expect(shown).toContain('"name": "crew.close"')
    expect(shown).toMatch(
      /"name": "patch", "description": "Changes a file\.\\n\\nIts input follows this grammar/,
    )
    expect(shown).not.toContain('web_search')
  })

  it('are refused by name if agents.strict is set', async () => {
    g = await testGateway({ write: () => 'ok', strict: true })
    const { status, body } = await respond({ tools: [WEB] })
    expect(status).toBe(400)
    expect(body.error.message).toMatch(/does not grant: tools\.web_search/)
  })

  it('that are a namespace are called by their own name in it', async () => {
    g = await testGateway({ write: () => callOf('crew.close', { id: 7 }) })
    const { body } = await respond({ tools: [NAMESPACE] })
    expect(body.output).toMatchObject([
      { type: 'function_call', namespace: 'crew', name: 'close', arguments: '{"id":7}' },
    ])
  })

  it('that take free text get the text, whole and streamed', async () => {
    g = await testGateway({ write: () => callOf('patch', { input: 'line 1\nline 2' }) })
    const { body } = await respond({ tools: [PATCH] })
    expect(body.output).toMatchObject([{ type: 'custom_tool_call', name: 'patch', input: 'line 1\nline 2' }])
    const streamed = await respond({ tools: [PATCH], stream: true })
    expect(streamed.body).toContain('event: response.custom_tool_call_input.done')
    const tools = [{ type: 'custom', custom: { name: 'patch' } }]
    const chat = await g.chat(await g.open(), [user('go')], { tools })
    expect(chat.body.choices[0].message.tool_calls).toMatchObject([
      { type: 'custom', custom: { name: 'patch', input: 'line 1\nline 2' } },
    ])
  })

  it.each(['responses', 'chat'])('are one sequence with their results (%s)', async (api) => {
    g = await testGateway({
      write: (prompt) => (prompt.includes('done it') ? 'fine' : callOf('patch', { input: 'x' })),
    })
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      if (api === 'chat') {
        const tools = [{ type: 'custom', custom: { name: 'patch' } }]
        const { message } = (await g.chat(rollout, [user('go')], { tools })).body.choices[0]
        const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'done it' }
        await g.chat(rollout, [user('go'), message, result], { tools })
      } else {
        const ask = async (input: object[]) =>
          (await g.post(`${rollout.base_url}/responses`, { tools: [PATCH], input }, rollout.api_key)).body
        const { output } = await ask([user('go')])
        const result = { type: 'custom_tool_call_output', call_id: output[0].call_id, output: 'done it' }
        await ask([user('go'), ...output, result])
      }
      await g.reward(rollout, value)
    }
    expect(g.groups[0]!.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])
  })

  it('in the history, which only a server could have run, are left out and named', async () => {
    g = await testGateway({ write: () => 'ok' })
    const { status, headers } = await respond({
      input: [user('go'), { type: 'web_search_call', id: 'ws_1', status: 'completed' }],
    })
    expect([status, headers.get('x-waggle-ignored')]).toEqual([200, 'input.web_search_call'])
  })
})

describe('messages', () => {
  it('with a refusal in place of text are read', async () => {
    let shown = ''
    g = await testGateway({
      write(prompt) {
        shown = prompt
        return 'ok'
      },
    })
    const part = { role: 'assistant', content: [{ type: 'refusal', refusal: 'not that' }] }
    const field = { role: 'assistant', content: null, refusal: 'nor this' }
    const { status } = await g.chat(await g.open(), [user('a'), part, user('b'), field, user('c')])
    expect(status).toBe(200)
    expect(shown).toContain('not that')
    expect(shown).toContain('nor this')
  })

  it('with the result of a tool that nobody called become words, and it is named', async () => {
    let shown = ''
    g = await testGateway({
      write(prompt) {
        shown = prompt
        return 'ok'
      },
    })
    const orphan = { role: 'tool', tool_call_id: 'call_gone', content: '42' }
    const { status, headers } = await g.chat(await g.open(), [user('go'), orphan])
    expect([status, headers.get('x-waggle-ignored')]).toEqual([200, 'messages.tool_call_id'])
    expect(shown).toContain('<tool_response>42</tool_response>')
    const item = { type: 'function_call_output', call_id: 'call_gone', output: '42' }
    const { headers: named } = await respond({ input: [user('go'), item] })
    expect(named.get('x-waggle-ignored')).toBe('input.call_id')
    await g.close()
    g = await testGateway({ write: () => 'ok', strict: true })
    expect((await g.chat(await g.open(), [user('go'), orphan])).status).toBe(400)
  })
})

describe('stop', () => {
  it.each([[''], [['']], [['', 'three']]])('%j takes an empty text as none', async (stop) => {
    g = await testGateway({ write: () => 'one two three' })
    const { status, body } = await g.chat(await g.open(), [user('go')], { stop })
    expect(status).toBe(200)
    expect(body.choices[0].message.content).toBe(stop.length === 2 ? 'one two ' : 'one two three')
  })
})

describe('an answer', () => {
  const long = [user('word '.repeat(400))]

  it('holds log-probs and the ids of the prompt only if they are asked for', async () => {
    g = await testGateway({ write: () => 'ok' })
    const { body } = await g.chat(await g.open(), long)
    expect(body.choices[0].logprobs).toBeNull()
    expect(body.prompt_token_ids).toBeUndefined()
    expect(body.choices[0].token_ids).toHaveLength(3)
    expect(JSON.stringify(body).length).toBeLessThan(700)
    const asked = await g.chat(await g.open(), long, { logprobs: true, return_token_ids: true })
    expect(asked.body.choices[0].logprobs.content).toHaveLength(3)
    expect(asked.body.prompt_token_ids.length).toBeGreaterThan(2000)
  })

  it.each([false, true])(
    'of every interface is small unless it is asked for more (stream: %s)',
    async (stream) => {
      g = await testGateway({ write: () => 'ok' })
      const { base_url: url, api_key: key } = await g.open()
      const prompt = 'word '.repeat(400)
      const sizeOf = async (path: string, body: object): Promise<number> => {
        const { status, body: answer } = await g.post(url + path, { ...body, stream }, key)
        expect(status).toBe(200)
        return JSON.stringify(answer).length
      }
      // A response repeats little of its request, and every event of a stream the response.
      expect(await sizeOf('/responses', { input: prompt })).toBeLessThan(stream ? 4000 : 1200)
      expect(await sizeOf('/completions', { prompt })).toBeLessThan(1200)
      expect(await sizeOf('/completions', { prompt, logprobs: 0, return_token_ids: true })).toBeGreaterThan(
        2000,
      )
      const include = ['message.output_text.logprobs']
      expect(await sizeOf('/responses', { input: prompt, include, return_token_ids: true })).toBeGreaterThan(
        2000,
      )
    },
  )
})

describe('requests', () => {
  const ask = async (init: { body: Uint8Array | string; headers?: Record<string, string> }) => {
    const { base_url: url, api_key: key } = await g.open()
    const headers = init.headers ?? {}
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: 'x-api-key' in headers ? { 'x-api-key': key } : { authorization: `Bearer ${key}`, ...headers },
      body: init.body,
    })
    await response.text()
    return response.status
  }
  const body = JSON.stringify({ messages: [user('go')] })

  it('may be compressed, within the same bounds', async () => {
    g = await testGateway({ write: () => 'ok' })
    expect(await ask({ body: gzipSync(body), headers: { 'content-encoding': 'gzip' } })).toBe(200)
    expect(await ask({ body: zstdCompressSync(body), headers: { 'content-encoding': 'zstd' } })).toBe(200)
    const bomb = gzipSync(' '.repeat(50_000_000))
    expect(await ask({ body: bomb, headers: { 'content-encoding': 'gzip' } })).toBe(413)
    expect(await ask({ body, headers: { 'content-encoding': 'gzip' } })).toBe(400)
    expect(await ask({ body, headers: { 'content-encoding': 'lzma' } })).toBe(415)
  })

  it('may begin with a byte-order mark, and bring their key as x-api-key', async () => {
    g = await testGateway({ write: () => 'ok' })
    expect(await ask({ body: `\ufeff${body}` })).toBe(200)
    expect(await ask({ body, headers: { 'x-api-key': '' } })).toBe(200)
  })

  it('for the model by its id get it, and for another one are told which there is', async () => {
    g = await testGateway({ write: () => 'ok' })
    expect((await g.get('/v1/models/tiny')).body).toMatchObject({ id: 'tiny', max_model_len: 4096 })
    const { status, body: answer } = await g.get('/v1/models/gpt-4')
    expect([status, answer.error.code]).toEqual([404, 'model_not_found'])
  })
})
