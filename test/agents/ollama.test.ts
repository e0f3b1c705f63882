// Ollama's API: lists, lines of JSON, options and tools as its clients know them.

import { afterEach, describe, expect, it } from 'vitest'
import { SERVE_KEY, type TestGateway, testGateway } from './gateway.ts'

const user = (content: string) => ({ role: 'user', content })
const TOOL = { type: 'function', function: { name: 'add', parameters: { type: 'object', properties: {} } } }
const CALL = '<tool_call>{"name": "add", "arguments": {"a": 9007199254740993}}</tool_call>'
let g: TestGateway
let shown: string[] = []
afterEach(() => g.close())

async function open(write: (prompt: string) => string): Promise<void> {
  shown = []
  g = await testGateway({
    write(prompt) {
      shown.push(prompt)
      return write(prompt)
    },
  })
}
const ask = (path: string, body: object) =>
  g.post(`${g.serving.url}/api/${path}`, { model: 'tiny:latest', ...body }, SERVE_KEY)
// biome-ignore lint/suspicious/noExplicitAny: lines of several shapes
const linesOf = ({ body }: { body: unknown }): any[] =>
  (typeof body === 'string' ? body.trim().split('\n') : []).map((line) => JSON.parse(line))

it('the model is listed and told of', async () => {
  await open(() => 'x')
  const get = async (path: string) => (await g.get(`${g.serving.url}/api/${path}`, SERVE_KEY)).body
  expect((await get('tags')).models).toMatchObject([{ name: 'tiny', details: { parameter_size: '1.0M' } }])
  expect((await get('version')).version).toMatch(/^\d+\.\d+\.\d+$/)
  const { body } = await ask('show', {})
  expect(body).toMatchObject({
    capabilities: ['completion', 'tools'],
    model_info: { 'general.architecture': 'waggle', 'waggle.context_length': 4096 },
  })
  const { status, body: other } = await ask('show', { model: 'llama3' })
  expect([status, other]).toEqual([404, { error: expect.stringContaining('"tiny"') }])
})

describe('a chat', () => {
  it('streams lines unless it says otherwise, with its options', async () => {
    await open(() => 'some words')
    const options = { temperature: 0, seed: 5, num_predict: 6, num_ctx: 4096, repeat_penalty: 1.1 }
    const streamed = await ask('chat', { messages: [user('hi')], options })
    expect(streamed.headers.get('x-waggle-ignored')).toBe('options.repeat_penalty')
    const lines = linesOf(streamed)
    expect(lines.map(({ message }) => message.content).join('')).toBe('some w')
    expect(lines.slice(0, -1).every(({ done }) => done === false)).toBe(true)
    expect(lines.at(-1)).toMatchObject({ done: true, done_reason: 'length', eval_count: 6, model: 'tiny' })
    expect(g.engine.requests[0]).toMatchObject({ temperature: 0, samples: [{ seed: 5 }] })
    const whole = await ask('chat', { messages: [user('hi')], stream: false })
    expect(whole.body).toMatchObject({ done: true, message: { role: 'assistant', content: 'some words' } })
  })

  it('with images gets an error in the shape of the API', async () => {
    await open(() => 'x')
    const { status, body } = await ask('chat', { messages: [{ ...user('hi'), images: ['aGk='] }] })
    expect([status, body]).toEqual([400, { error: expect.stringMatching(/reads text only/) }])
  })

  it('without messages, or a question without words, says at once that the model is loaded', async () => {
    await open(() => 'x')
    const loaded = { model: 'tiny', created_at: new Date(1_000_000).toISOString(), done: true }
    for (const body of [{ messages: [] }, {}, { messages: [], keep_alive: 0, stream: false }])
      expect(await ask('chat', body)).toMatchObject({
        status: 200,
        body: { ...loaded, done_reason: 'load', message: { role: 'assistant', content: '' } },
      })
    for (const body of [{ prompt: '' }, {}, { prompt: '', keep_alive: '5m' }])
      expect(await ask('generate', body)).toMatchObject({
        status: 200,
        body: { ...loaded, done_reason: 'load', response: '' },
      })
    expect(shown).toEqual([])
    expect(g.serving.info()).toMatchObject({ answered: 0 })
  })

  it('tells how long it took, so that clients can say how many tokens a second there were', async () => {
    await open(() => 'some words')
    const whole = (await ask('chat', { messages: [user('hi')], stream: false })).body
    const last = linesOf(await ask('generate', { prompt: 'hi' })).at(-1)
    for (const { total_duration: total, load_duration: load, ...end } of [whole, last]) {
      expect([total > 0, load]).toEqual([true, 0])
      expect(end.prompt_eval_count / end.prompt_eval_duration).toBeLessThan(Number.POSITIVE_INFINITY)
      expect(end.eval_count / end.eval_duration).toBeLessThan(Number.POSITIVE_INFINITY)
    }
  })

  it.each(['[2, 3]', '"2 and 3"', '5'])(
    'calls a tool with an object, whatever the model wrote: %s',
    async (args) => {
      await open(() => `<tool_call>{"name": "add", "arguments": ${args}}</tool_call>`)
      const { body } = await ask('chat', { messages: [user('go')], tools: [TOOL], stream: false })
      const [{ function: called }] = body.message.tool_calls
      expect(called).toEqual({ name: 'add', arguments: { input: args.startsWith('"') ? '2 and 3' : args } })
    },
  )

  it.each([true, false])(
    'with tools is one sequence in a rollout, if calls keep their ids: %s',
    async (keeps) => {
      await open((prompt) => (prompt.includes('it is 7') ? 'seven' : CALL))
      for (const value of [1, 0]) {
        const rollout = await g.open({ group: 'one' })
        const path = rollout.base_url.replace(/\/v1$/, '/api/chat')
        const say = async (messages: object[]) => {
          const asked = { messages, tools: [TOOL], stream: false }
          return (await g.post(path, JSON.stringify(asked), rollout.api_key)).body.message
        }
        const first = await say([user('go')])
        const [{ id, function: called }] = first.tool_calls
        // Read as a double, the number has lost a digit; that is the client's doing.
        const calls = [{ ...(keeps ? { id } : {}), function: { ...called, arguments: EXACT } }]
        const messages = `[${JSON.stringify(user('go'))},${JSON.stringify({
          ...first,
          tool_calls: calls,
        }).replace(
          `"${EXACT}"`,
          '{"a":9007199254740993}',
        )},{"role":"tool","tool_name":"add","content":"it is 7"}]`
        const body = `{"stream":false,"tools":${JSON.stringify([TOOL])},"messages":${messages}}`
        expect((await g.post(path, body, rollout.api_key)).body.message.content).toBe('seven')
        await g.reward(rollout, value)
      }
      expect(g.groups[0]!.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])
    },
  )
})

const EXACT = 'arguments as they were written'

describe('generate', () => {
  it('answers a question, or continues a text as it is', async () => {
    await open(() => 'some words')
    const lines = linesOf(await ask('generate', { prompt: 'hi', system: 'Be kind.' }))
    expect(lines.map(({ response }) => response).join('')).toBe('some words')
    expect(lines.at(-1)).toMatchObject({ done: true, done_reason: 'stop' })
    expect(shown[0]).toContain('Be kind.')
    const raw = await ask('generate', { prompt: 'once', raw: true, stream: false })
    expect(raw.body.response).toBe('some words')
    expect(shown[1]).toBe('once')
  })
})
