// Anthropic's Messages API: blocks, tools, streams and errors as its clients know them, and the rows that come of it.

import { afterEach, describe, expect, it } from 'vitest'
import { SERVE_KEY, type TestGateway, testGateway } from './gateway.ts'

const user = (content: unknown) => ({ role: 'user', content })
const TOOL = {
  ...{ name: 'add', description: 'adds', cache_control: { type: 'ephemeral' } },
  input_schema: { type: 'object', properties: { a: { type: 'number' } } },
}
const CALL = '<tool_call>{"name": "add", "arguments": {"a": 9007199254740993}}</tool_call>'
let g: TestGateway
let shown: string[] = []
afterEach(() => g.close())

async function open(write: (prompt: string) => string, more = {}): Promise<void> {
  shown = []
  g = await testGateway({
    write(prompt) {
      shown.push(prompt)
      return write(prompt)
    },
    ...more,
  })
}
const ask = (body: object, path = '/v1/messages') =>
  g.post(`${g.serving.url}${path}`, { model: 'tiny', max_tokens: 64, ...body }, '', {
    authorization: '',
    'x-api-key': SERVE_KEY,
  })
const eventsOf = (text: string) =>
  text
    .trim()
    .split('\n\n')
    .map((one) => {
      const [, type, data] = /^event: (\w+)\ndata: (.*)$/.exec(one)!
      const parsed = JSON.parse(data!)
      expect(parsed.type).toBe(type)
      return parsed
    })

describe('an answer', () => {
  it('is a message of blocks, with its usage and the reason of its end', async () => {
    await open(() => 'hello STOP there')
    const { status, body, headers } = await ask({
      ...{ system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }] },
      ...{ messages: [user([{ type: 'text', text: 'hi' }])], stop_sequences: ['STOP'] },
    })
    expect(status).toBe(200)
    expect(headers.get('request-id')).toMatch(/^req_[0-9a-f]{24}$/)
    expect(body).toMatchObject({
      ...{ type: 'message', role: 'assistant', model: 'tiny', stop_reason: 'stop_sequence' },
      ...{ content: [{ type: 'text', text: 'hello ' }], stop_sequence: 'STOP' },
    })
    expect(body.usage).toMatchObject({ output_tokens: 10, cache_creation_input_tokens: 0 })
    expect(shown[0]).toContain('Be kind.')
    const short = await ask({ messages: [user('hi')], max_tokens: 3 })
    expect(short.body).toMatchObject({ stop_reason: 'max_tokens', content: [{ text: 'hel' }] })
  })

  it('streams in the published order', async () => {
    await open(() => 'some words')
    const events = eventsOf((await ask({ messages: [user('hi')], stream: true })).body)
    const types = events.map(({ type }) => type)
    expect(types.filter((type, i) => type !== types[i - 1])).toEqual([
      ...['message_start', 'content_block_start', 'ping', 'content_block_delta', 'content_block_stop'],
      ...['message_delta', 'message_stop'],
    ])
    expect(events[0].message).toMatchObject({ content: [], stop_reason: null })
    expect(events[0].message.usage.input_tokens).toBeGreaterThan(0)
    expect(events.map(({ delta }) => delta?.text ?? '').join('')).toBe('some words')
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 11 } })
  })

  it('that calls a tool has its input with every digit, whole and streamed, after the text before it', async () => {
    await open(() => `I add. ${CALL}`)
    const asked = { messages: [user('go')], tools: [TOOL], max_tokens: 200 }
    const response = await fetch(`${g.serving.url}/v1/messages`, {
      ...{ method: 'POST', headers: { 'x-api-key': SERVE_KEY } },
      body: JSON.stringify(asked),
    })
    const text = await response.text()
    expect(text).toContain('"name":"add","input":{"a":9007199254740993}')
    expect(JSON.parse(text)).toMatchObject({ stop_reason: 'tool_use', content: [{ text: 'I add.' }, {}] })
    const events = eventsOf((await ask({ ...asked, stream: true })).body)
    expect(events.filter(({ type }) => type === 'content_block_start')).toMatchObject([
      { index: 0, content_block: { type: 'text', text: '' } },
      { index: 1, content_block: { type: 'tool_use', name: 'add', input: {} } },
    ])
    const { delta } = events.find((one) => one.delta?.type === 'input_json_delta')
    expect(delta.partial_json).toBe('{"a":9007199254740993}')
  })
})

describe('a request', () => {
  it('with results of tools, thoughts and other settings of Claude Code is read', async () => {
    await open(() => 'done')
    const { status, headers } = await ask(
      {
        messages: [
          user('go'),
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'hidden', signature: 'x' },
              { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1 } },
            ],
          },
          user([
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'it is 7' }] },
            { type: 'text', text: 'and then' },
          ]),
        ],
        tools: [TOOL, { type: 'web_search_20250305', name: 'web_search' }],
        ...{ thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
        ...{ context_management: { edits: [] }, metadata: { user_id: 'me' } },
      },
      '/v1/messages?beta=true',
    )
    expect(status).toBe(200)
    expect(headers.get('x-waggle-ignored')).toBe('tools.web_search_20250305, thinking, output_config')
    expect(shown[0]).toContain('it is 7')
    expect(shown[0]!.indexOf('it is 7')).toBeLessThan(shown[0]!.indexOf('and then'))
    expect(shown[0]).not.toContain('hidden')
  })

  it('that must call a tool has its call begun, of this tool or of any', async () => {
    await open(() => '{"a": 1}}</tool_call>')
    const choose = async (tool_choice: object) =>
      (await ask({ messages: [user('go')], tools: [TOOL], tool_choice })).body.content
    expect(await choose({ type: 'tool', name: 'add' })).toMatchObject([{ name: 'add', input: { a: 1 } }])
    await choose({ type: 'any' })
    expect(shown[1]).toMatch(/<tool_call>\{"name": "$/)
    await choose({ type: 'none' })
    expect(shown[2]).not.toContain('adds')
  })

  it('is counted without an answer', async () => {
    await open(() => 'x')
    const asked = { system: 'Be kind.', messages: [user('hi')], tools: [TOOL] }
    const { body } = await ask(asked, '/v1/messages/count_tokens')
    expect(body).toEqual({ input_tokens: (await ask(asked)).body.usage.input_tokens })
    expect(shown).toHaveLength(1)
  })

  it('with a form of the answer is counted as it is answered', async () => {
    await open(() => '{}')
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    const asked = { messages: [user('hi')], output_config: { format: { type: 'json_schema', schema } } }
    const { body } = await ask(asked, '/v1/messages/count_tokens')
    expect(body).toEqual({ input_tokens: (await ask(asked)).body.usage.input_tokens })
    expect(shown[0]).toContain('JSON of this schema')
  })

  it('whose answer is begun is counted as it is answered', async () => {
    await open(() => 'x')
    const asked = { messages: [user('hi'), { role: 'assistant', content: 'well,' }] }
    const { body } = await ask(asked, '/v1/messages/count_tokens')
    expect(body).toEqual({ input_tokens: (await ask(asked)).body.usage.input_tokens })
  })

  it.each([
    [{ messages: [user([{ type: 'image', source: {} }])] }, /type "image".*reads text only/],
    [{ messages: [] }, /"messages" must be a list/],
    [{ messages: [user('x')], tool_choice: { type: 'some' } }, /must be auto, any, tool or none/],
    [{ messages: [{ role: 'tool', content: 'x' }] }, /has the role "tool"/],
  ])('that is wrong gets an error in the shape of the API (%#)', async (body, words) => {
    await open(() => 'x')
    const answer = await ask(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringMatching(words) },
    })
  })

  it('with a wrong key or of another model is refused as such', async () => {
    await open(() => 'x')
    const body = { messages: [user('x')] }
    const wrong = await g.post(`${g.serving.url}/v1/messages`, body, 'wrong')
    expect([wrong.status, wrong.body.error.type]).toEqual([401, 'authentication_error'])
    const other = await ask({ ...body, model: 'claude-opus' })
    expect([other.status, other.body.error.type]).toEqual([404, 'not_found_error'])
  })
})

describe("a rollout's conversation", () => {
  it('is one sequence, through calls of tools and their results', async () => {
    await open((prompt) => (prompt.includes('it is 7') ? 'seven' : CALL))
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      const say = async (messages: object[]) => {
        const path = rollout.base_url.replace(/\/v1$/, '/v1/messages')
        const { status, body } = await g.post(path, { messages, tools: [TOOL] }, rollout.api_key)
        expect(status).toBe(200)
        return body
      }
      const first = await say([user('go')])
      const result = { type: 'tool_result', tool_use_id: first.content[0].id, content: 'it is 7' }
      const messages = [user('go'), { role: 'assistant', content: first.content }, user([result])]
      expect((await say(messages)).content).toEqual([{ type: 'text', text: 'seven' }])
      expect((await g.reward(rollout, value)).status).toBe(200)
    }
    expect(g.groups[0]!.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])
  })
})
