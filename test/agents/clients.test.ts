// Real clients from npm against the gateway, and what is recorded of what they do.

import { afterEach, describe, expect, it } from 'vitest'
import { type TestGateway, testGateway } from './gateway.ts'

// biome-ignore lint/suspicious/noExplicitAny: plain JavaScript, as agents are written
const clients: any = await import(new URL('./clients.mjs', import.meta.url).href)

const ADD = {
  type: 'function',
  function: { name: 'add', description: 'adds two numbers', parameters: { type: 'object', properties: {} } },
}
const CALL = '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>'
/** Calls the tool, then tells its result. */
const withTool = (prompt: string): string => {
  const [, result] = /(?:tool\n|<tool_response>)(\d+)(?:<\/tool_response>)?\nassistant\n$/.exec(prompt) ?? []
  return result === undefined ? CALL : `it is ${result}`
}
let g: TestGateway
afterEach(() => g.close())

/** Rewards two rollouts that were played alike, and returns the group's first. */
async function landed(play: (rollout: Awaited<ReturnType<TestGateway['open']>>) => Promise<unknown>) {
  for (const value of [1, 0]) {
    const rollout = await g.open({ group: 'one' })
    await play(rollout)
    expect((await g.reward(rollout, value)).status).toBe(200)
  }
  return g.groups[0]!
}

describe("OpenAI's client", () => {
  it('chats, streamed and whole, with the same tokens recorded as told', async () => {
    g = await testGateway({ write: (_, { seed }) => `some words ${seed}` })
    const group = await landed(async (rollout) => {
      const client = clients.openai(rollout)
      const messages = [{ role: 'user', content: 'hello' }]
      const whole = await client.chat.completions.create({ model: 'waggle', messages })
      expect(whole.choices[0].finish_reason).toBe('stop')
      let text = ''
      let tokens: number[] = []
      let usage: unknown
      const stream = await client.chat.completions.create({
        ...{ model: 'waggle', messages, stream: true },
        stream_options: { include_usage: true },
      })
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        tokens = chunk.choices[0]?.token_ids ?? tokens
        usage = chunk.usage ?? usage
      }
      expect(text).toMatch(/^some words \d+$/)
      expect(text).toBe(g.tokenizer.decodeCompletion(Int32Array.from(tokens)))
      expect(usage).toMatchObject({ completion_tokens: tokens.length })
      expect((await client.models.list()).data[0].id).toBe('tiny')
    })
    // Two answers to the same prompt are two rows.
    expect(group.rollouts).toHaveLength(4)
  })

  it('calls tools, and the conversation is one sequence', async () => {
    g = await testGateway({ write: withTool })
    const group = await landed(async (rollout) => {
      const client = clients.openai(rollout)
      const messages: object[] = [{ role: 'user', content: 'what is 2 + 3' }]
      const first = await client.chat.completions.create({ model: 'waggle', messages, tools: [ADD] })
      const { message, finish_reason } = first.choices[0]
      expect(finish_reason).toBe('tool_calls')
      expect(message.content).toBeNull()
      expect(JSON.parse(message.tool_calls[0].function.arguments)).toEqual({ a: 2, b: 3 })
      messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '5' })
      const second = await client.chat.completions.create({ model: 'waggle', messages, tools: [ADD] })
      expect(second.choices[0].message.content).toBe('it is 5')
    })
    expect(group.rollouts).toHaveLength(2)
    const { turns, lossMask, tokens } = group.rollouts[0]!
    expect(turns).toHaveLength(2)
    const learnt = g.tokenizer.decodeCompletion(tokens.filter((_, i) => lossMask![i] === 1))
    expect(learnt).toBe(`${CALL}it is 5`)
  })

  it('streams tool calls', async () => {
    g = await testGateway({ write: withTool })
    const client = clients.openai(await g.open())
    const stream = client.chat.completions.stream({
      ...{ model: 'waggle', messages: [{ role: 'user', content: 'what is 2 + 3' }], tools: [ADD] },
    })
    const { choices } = await stream.finalChatCompletion()
    expect(choices[0].message.tool_calls[0].function.name).toBe('add')
  })

  it('asks for responses, streamed and whole, with tools and by the id of the last one', async () => {
    g = await testGateway({ write: withTool })
    const tools = [{ ...ADD.function, type: 'function', strict: false }]
    const group = await landed(async (rollout) => {
      const client = clients.openai(rollout)
      const first = await client.responses.create({ model: 'waggle', input: 'what is 2 + 3', tools })
      const call = first.output.find(({ type }: { type: string }) => type === 'function_call')
      expect(call).toMatchObject({ name: 'add', arguments: '{"a": 2, "b": 3}' })
      const second = await client.responses.create({
        ...{ model: 'waggle', tools, previous_response_id: first.id },
        input: [{ type: 'function_call_output', call_id: call.call_id, output: '5' }],
      })
      expect(second.output_text).toBe('it is 5')
    })
    expect(group.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])

    const client = clients.openai(await g.open())
    const types: string[] = []
    const stream = client.responses.stream({ model: 'waggle', input: '<tool_response>7</tool_response>' })
    for await (const event of stream) types.push(event.type)
    expect((await stream.finalResponse()).output_text).toBe('it is 7')
    expect(types[0]).toBe('response.created')
    expect(types.at(-1)).toBe('response.completed')
  })

  it('continues text', async () => {
    g = await testGateway({ write: (prompt) => ` after ${prompt.length}` })
    const group = await landed(async (rollout) => {
      const client = clients.openai(rollout)
      const { choices } = await client.completions.create({ model: 'waggle', prompt: 'once', max_tokens: 4 })
      expect(choices[0]).toMatchObject({ text: ' aft', finish_reason: 'length' })
      await client.completions.create({ model: 'waggle', prompt: `once${choices[0].text} that` })
    })
    expect(group.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])
  })

  it('that gave up waiting gets the recorded answer when it tries again, and no second sample', async () => {
    g = await testGateway({ write: (_, { seed }) => `answer ${seed}` })
    const rollout = await g.open()
    const letGo = g.hold()
    const client = clients.openai(rollout, { timeout: 400, maxRetries: 4 })
    const asking = client.chat.completions.create({
      model: 'waggle',
      messages: [{ role: 'user', content: 'go' }],
    })
    setTimeout(letGo, 600)
    const answer = await asking
    const { body } = await g.get(`/v1/rollouts/${rollout.id}/calls`)
    expect(body.calls).toHaveLength(1)
    expect(body.calls[0].token_ids).toEqual(answer.choices[0].token_ids)
    expect(g.engine.requests.flatMap(({ samples }) => samples)).toHaveLength(1)
  })

  it('does not try again what cannot succeed', async () => {
    g = await testGateway({ write: () => 'x' })
    const rollout = await g.open()
    await g.pass(61_000)
    const client = clients.openai(rollout, { maxRetries: 5 })
    const asking = client.chat.completions.create({
      model: 'waggle',
      messages: [{ role: 'user', content: 'go' }],
    })
    await expect(asking).rejects.toMatchObject({
      status: 410,
      message: expect.stringMatching(/had no reward/),
    })
  })
})

describe("Vercel's ai", () => {
  it('runs a loop with a tool, which is one sequence', async () => {
    g = await testGateway({ write: withTool })
    const group = await landed(async (rollout) => {
      const { text, results } = await clients.loopWithTool(rollout, 'what is 2 + 3')
      expect(results).toEqual(['5'])
      expect(text).toBe('it is 5')
    })
    expect(group.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])
  })

  it('streams text', async () => {
    g = await testGateway({ write: () => 'many words in a row' })
    const pieces = await clients.streamWithVercel(await g.open(), 'hello')
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe('many words in a row')
  })
})

describe('LangChain', () => {
  it('asks, streams and binds tools', async () => {
    g = await testGateway({ write: withTool })
    const group = await landed(async (rollout) => {
      const model = clients.langchain(rollout).bindTools([ADD])
      const asked = await model.invoke('what is 2 + 3')
      expect(asked.tool_calls[0]).toMatchObject({ name: 'add', args: { a: 2, b: 3 } })
      const result = { role: 'tool', content: '5', tool_call_id: asked.tool_calls[0].id }
      const told = await model.invoke([{ role: 'user', content: 'what is 2 + 3' }, asked, result])
      expect(told.content).toBe('it is 5')
    })
    expect(group.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])
    let text = ''
    for await (const chunk of await clients
      .langchain(await g.open())
      .stream('<tool_response>9</tool_response>'))
      text += chunk.content
    expect(text).toBe('it is 9')
  })
})
