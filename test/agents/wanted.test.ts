// What a client wants of an answer: a form, and tool calls. What is kept, and what is counted because it is not.

import { afterEach, describe, expect, it } from 'vitest'
import { type Opened, type TestGateway, testGateway } from './gateway.ts'

const user = (content: string) => ({ role: 'user', content })
const tool = (name: string) => ({ type: 'function', function: { name, parameters: {} } })
const call = (name: string, args = '{}') => `<tool_call>{"name": "${name}", "arguments": ${args}}</tool_call>`
const schema = {
  type: 'object',
  properties: { at: { type: 'number', maximum: 1 } },
  required: ['at'],
}
const NONE = { type: 'object', properties: {}, additionalProperties: false }
let g: TestGateway
afterEach(() => g.close())

/** A gateway whose model writes these answers in turn, and the prompts that it saw. */
async function play(...answers: string[]) {
  const prompts: string[] = []
  g = await testGateway({
    write(prompt) {
      prompts.push(prompt)
      return answers[(prompts.length - 1) % answers.length]!
    },
  })
  return prompts
}

describe('a form of the answer', () => {
  const forms = [
    ['chat', { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }],
    ['responses', { text: { format: { type: 'json_schema', name: 'x', schema } } }],
  ] as const

  it.each(forms)('is told to the model with its schema (%s)', async (dialect, more) => {
    const prompts = await play('{"at": 1}')
    const { base_url: url, api_key: key } = await g.open()
    const [path, asked] =
      dialect === 'chat' ? ['/chat/completions', { messages: [user('go')] }] : ['/responses', { input: 'go' }]
    // As Python's clients write it.
    const body = JSON.stringify({ ...asked, ...more }).replace('"maximum":1', '"maximum": 1.0')
    const { status, headers } = await g.post(url + path, body, key)
    expect(status).toBe(200)
    expect(headers.get('x-waggle-ignored')).toBeNull()
    expect(prompts[0]).toContain(
      'Answer with nothing but JSON of this schema:\n{"type": "object", "properties": {"at": {"type": "number", "maximum": 1.0}}, "required": ["at"]}',
    )
    expect(g.info().unkept).toBeUndefined()
  })

  it.each(['json', { type: 'json_object' }])('may be any JSON object: %j', async (format) => {
    const prompts = await play('{}')
    expect((await g.chat(await g.open(), [user('go')], { response_format: format })).status).toBe(200)
    expect(prompts[0]).toContain('Answer with nothing but a JSON object')
  })

  it.each(['text', { type: 'text' }, null])('may be text: %j', async (format) => {
    const prompts = await play('x')
    expect((await g.chat(await g.open(), [user('go')], { response_format: format })).status).toBe(200)
    expect(prompts[0]).not.toContain('JSON')
  })

  it('that an answer does not have is counted', async () => {
    await play('at: 1', '{"to": 1}', '[]', '{"at": 1}')
    const rollout = await g.open()
    for (let i = 0; i < 4; i++)
      await g.chat(rollout, [user('go')], { response_format: forms[0][1].response_format })
    expect(g.info().unkept).toEqual({ response_format: 3 })
  })

  it('that cannot be told is named, and refused if agents.strict is set', async () => {
    await play('x')
    const { headers } = await g.chat(await g.open(), [user('go')], { response_format: { type: 'grammar' } })
    expect(headers.get('x-waggle-ignored')).toBe('response_format')
    expect((await g.chat(await g.open(), [user('go')], { response_format: 7 })).status).toBe(400)
    await g.close()
    g = await testGateway({ write: () => '{}', strict: true, enforces: false })
    const refused = await g.chat(await g.open(), [user('go')], { response_format: { type: 'json_object' } })
    expect(refused.body.error.message).toMatch(/does not grant: response_format/)
  })
})

describe('a form that the model is kept to', () => {
  const asked = { messages: [user('go')] }
  const forms = [
    ['chat/completions', { ...asked, response_format: { type: 'json_schema', json_schema: { schema } } }],
    ['chat/completions', { ...asked, guided_choice: ['yes', 'no'] }],
    ['chat/completions', { ...asked, structured_outputs: { regex: '[0-9]+' } }],
    ['completions', { prompt: 'go', guided_json: JSON.stringify(schema) }],
    ['responses', { input: 'go', text: { format: { type: 'json_schema', schema } } }],
    ['messages', { ...asked, max_tokens: 9, output_config: { format: { type: 'json_schema', schema } } }],
  ] as const
  const sent = () => g.engine.requests.at(-1)!.grammar

  it.each(forms)('reaches the sampler: %s %j', async (path, body) => {
    await play('{"at": 1}')
    const { base_url: url, api_key: key } = await g.open()
    const { status, headers } = await g.post(`${url}/${path}`, body, key)
    expect([status, headers.get('x-waggle-ignored')]).toEqual([200, null])
    expect(sent()?.key).toMatch(/^[0-9a-f]{64}$/)
  })

  it('is a tool call where one must be made, or where a tool is strict', async () => {
    await play('{}')
    const strict = { type: 'function', function: { name: 'look', strict: true, parameters: schema } }
    const keys = []
    for (const more of [
      { tools: [tool('look')] },
      { tools: [tool('look')], tool_choice: 'required' },
      { tools: [strict] },
      { tools: [strict], tool_choice: 'none' },
    ]) {
      expect((await g.chat(await g.open(), [user('go')], more)).status).toBe(200)
      keys.push(sent()?.key)
    }
    expect(keys.map((key) => key !== undefined)).toEqual([false, true, true, false])
  })

  it('of a call has no arguments where the tool has no parameters', async () => {
    await play('{}')
    const keys = []
    for (const parameters of [undefined, { type: 'object', properties: {} }, NONE, { type: 'object' }]) {
      const tools = [{ type: 'function', function: { name: 'now', parameters } }]
      const more = { tools, tool_choice: { type: 'function', function: { name: 'now' } } }
      expect((await g.chat(await g.open(), [user('go')], more)).status).toBe(200)
      keys.push(sent()?.key)
    }
    const [left, empty, none, any] = keys
    expect([left, empty]).toEqual([none, none])
    expect(any).not.toBe(none)
  })

  it('is refused by the name and place of what cannot be kept; a strict tool is named', async () => {
    await play('{}')
    const unique = { properties: { a: { type: 'array', uniqueItems: true } } }
    const format = { type: 'json_schema', json_schema: { schema: unique } }
    const refused = await g.chat(await g.open(), [user('go')], { response_format: format })
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining('"uniqueItems" at #/properties/a is not supported'),
    ])
    const twice = { response_format: format, guided_choice: ['x'] }
    expect((await g.chat(await g.open(), [user('go')], twice)).body.error.message).toMatch(/given twice/)
    const tools = [{ type: 'function', function: { name: 'look', strict: true, parameters: unique } }]
    const { headers } = await g.chat(await g.open(), [user('go')], { tools })
    expect(headers.get('x-waggle-ignored')).toBe('tools.look.strict')
  })

  it('is only told where the sampler cannot be kept to it, and what relies on it is named', async () => {
    g = await testGateway({ write: () => '{}', enforces: false })
    const format = { type: 'json_schema', json_schema: { strict: true, schema } }
    for (const [more, ignored] of [
      [{ response_format: format }, 'response_format.strict'],
      [{ guided_choice: ['x'] }, 'response_format'],
    ] as const) {
      const { status, headers } = await g.chat(await g.open(), [user('go')], more)
      expect([status, headers.get('x-waggle-ignored')]).toEqual([200, ignored])
      expect(sent()).toBeUndefined()
    }
  })
})

describe('parallel_tool_calls = false', () => {
  const more = { tools: [tool('look'), tool('go')], parallel_tool_calls: false }

  it('ends the answer after its first call, and the tokens up to there are recorded', async () => {
    await play(`Well. ${call('look')}\n${call('go')} and more`)
    const rollout = await g.open()
    const { body } = await g.chat(rollout, [user('go')], more)
    const { message, finish_reason: reason, token_ids: tokens } = body.choices[0]
    expect(message.tool_calls.map((one: { function: { name: string } }) => one.function.name)).toEqual([
      'look',
    ])
    expect(reason).toBe('tool_calls')
    expect(g.tokenizer.decodeCompletion(Int32Array.from(tokens))).toBe(`Well. ${call('look')}`)
    expect(g.info().unkept).toBeUndefined()
  })

  it('leaves an answer without a call alone', async () => {
    await play('Well, no.')
    const { body } = await g.chat(await g.open(), [user('go')], more)
    expect(body.choices[0].message.content).toBe('Well, no.')
  })
})

describe('a tool that must be called', () => {
  const tools = [tool('look'), tool('go')]
  const named = { type: 'function', function: { name: 'go' } }

  it('has its call begun, and the conversation is one sequence', async () => {
    const prompts = await play(' {"at": 1.0}}</tool_call>', 'done')
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      const { body } = await g.chat(rollout, [user('hi')], { tools, tool_choice: named })
      const { message, finish_reason: reason } = body.choices[0]
      expect(message.tool_calls[0].function).toEqual({ name: 'go', arguments: '{"at": 1.0}' })
      expect([message.content, reason]).toEqual([null, 'tool_calls'])
      const result = { role: 'tool', content: 'seen', tool_call_id: message.tool_calls[0].id }
      await g.chat(rollout, [user('hi'), message, result], { tools })
      await g.reward(rollout, value)
    }
    expect(prompts[0]!.endsWith('assistant\n<tool_call>{"name": "go", "arguments":')).toBe(true)
    expect(g.groups[0]!.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])
    expect(g.info().unkept).toBeUndefined()
  })

  it('may be any, and the model names it', async () => {
    const prompts = await play('look", "arguments": {}}</tool_call>')
    for (const stream of [false, true]) {
      const { body } = await g.chat(await g.open(), [user('hi')], { tools, tool_choice: 'required', stream })
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      expect(text).toContain('"function":{"name":"look","arguments":"{}"}')
      expect(text).not.toContain('<tool_call>')
    }
    expect(prompts[0]!.endsWith('assistant\n<tool_call>{"name": "')).toBe(true)
  })

  it('is called even if the model begins the call anew', async () => {
    await play(`${call('go', '{"a": 1}')}${call('go', '{"a": 2}')}`)
    const { body } = await g.chat(await g.open(), [user('hi')], { tools, tool_choice: named })
    const { message } = body.choices[0]
    expect(message.tool_calls.map((one: { function: object }) => one.function)).toEqual([
      { name: 'go', arguments: '{"a": 1}' },
    ])
    expect(message.content).toBeNull()
  })

  it('and is not is counted, and the client gets what the model wrote', async () => {
    await play('I would rather not.')
    const { body } = await g.chat(await g.open(), [user('hi')], { tools, tool_choice: named })
    expect(body.choices[0].message.content).toBe('I would rather not.')
    expect(g.info().unkept).toEqual({ tool_choice: 1 })
  })

  it('and does not exist is named in the header', async () => {
    await play('x')
    const choice = { type: 'function', function: { name: 'nothing' } }
    const { headers } = await g.chat(await g.open(), [user('hi')], { tools, tool_choice: choice })
    expect(headers.get('x-waggle-ignored')).toBe('tool_choice')
  })

  it('is begun as the template writes calls', async () => {
    const prompts: string[] = []
    g = await testGateway({
      chatTemplate:
        '{% for m in messages %}{{ m.role }}\n{% if m.tool_calls %}{{ \'{"name": "\' + m.tool_calls[0].function.name + \'", "parameters": \' }}{{ m.tool_calls[0].function.arguments | tojson }}{{ \'}\' }}{% else %}{{ m.content }}{% endif %}<|im_end|>{% endfor %}{% if add_generation_prompt %}assistant\n{% endif %}',
      write(prompt) {
        prompts.push(prompt)
        return ' {"at": 7}}'
      },
    })
    const { body } = await g.chat(await g.open(), [user('hi')], { tools, tool_choice: named })
    expect(prompts[0]!.endsWith('assistant\n{"name": "go", "parameters":')).toBe(true)
    expect(body.choices[0].message.tool_calls[0].function).toEqual({ name: 'go', arguments: '{"at": 7}' })
  })
})

describe('a forced call that the limit cuts off', () => {
  const tools = [tool('look'), tool('go')]
  const named = { type: 'function', function: { name: 'go' } }
  const WRITTEN = ' {"at": 1.0, "way": "no'
  const chat = async (rollout: Opened, more: object = {}) =>
    (await g.chat(rollout, [user('hi')], { tools, tool_choice: named, max_tokens: 23, ...more })).body
  const cut = () => play(`${WRITTEN}rth"}}</tool_call>`, 'done')

  it('is a call with what was written of its arguments', async () => {
    await cut()
    const { message, finish_reason: reason } = (await chat(await g.open())).choices[0]
    expect(message.tool_calls[0].function).toEqual({ name: 'go', arguments: WRITTEN.trim() })
    expect([message.content, reason]).toEqual([null, 'length'])
    expect(g.info().unkept).toBeUndefined()
  })

  it('is so in a stream', async () => {
    await cut()
    const events: string = await chat(await g.open(), { stream: true })
    expect(events).toContain(`"function":${JSON.stringify({ name: 'go', arguments: WRITTEN.trim() })}`)
    expect(events).toContain('"finish_reason":"length"')
    expect(events).not.toMatch(/"content":"[^"]/)
  })

  it('has the name that the model wrote, if it could call any tool', async () => {
    await play('look", "argu')
    const { message } = (await chat(await g.open(), { tool_choice: 'required', max_tokens: 12 })).choices[0]
    expect(message.tool_calls[0].function).toEqual({ name: 'look', arguments: '' })
  })

  it('is text if the model has named no tool', async () => {
    await play('loo')
    const { message } = (await chat(await g.open(), { tool_choice: 'required', max_tokens: 3 })).choices[0]
    expect(message).toMatchObject({ content: 'loo' })
  })

  it('is text if the model wrote something else', async () => {
    await play('I would rather not do that at all.')
    const { message } = (await chat(await g.open())).choices[0]
    expect(message.content).toMatch(/^I would rather not/)
  })

  it('is continued as it was sampled', async () => {
    await cut()
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      const { message } = (await chat(rollout)).choices[0]
      const result = { role: 'tool', content: 'cut', tool_call_id: message.tool_calls[0].id }
      await g.chat(rollout, [user('hi'), message, result], { tools })
      await g.reward(rollout, value)
    }
    expect(g.groups[0]!.rollouts.map(({ turns }) => turns?.length)).toEqual([2, 2])
  })

  it('is an incomplete item of the responses API', async () => {
    await cut()
    const more = { input: 'hi', tools: [{ type: 'function', name: 'go' }], max_output_tokens: 23 }
    const { base_url: url, api_key: key } = await g.open()
    const choice = { type: 'function', name: 'go' }
    const { body } = await g.post(`${url}/responses`, { ...more, tool_choice: choice }, key)
    const item = { type: 'function_call', name: 'go', arguments: WRITTEN.trim(), status: 'incomplete' }
    expect(body).toMatchObject({ status: 'incomplete', output: [item] })
    expect(body.output).toHaveLength(1)
  })

  it('of free text has the text as far as it was written', async () => {
    await play(' {"input": "one \\"two\\u00e9')
    const custom = { type: 'custom', custom: { name: 'go' } }
    const { message } = (await chat(await g.open(), { tools: [custom], tool_choice: custom, max_tokens: 25 }))
      .choices[0]
    expect(message.tool_calls[0].custom).toEqual({ name: 'go', input: 'one "two' })
  })

  describe('in the messages API', () => {
    const ask = async (more: object = {}) => {
      await cut()
      const { base_url: url, api_key: key } = await g.open()
      const asked = { messages: [user('hi')], tools: [{ name: 'go', input_schema: { type: 'object' } }] }
      const choice = { type: 'tool', name: 'go' }
      return (
        await g.post(`${url}/messages`, { ...asked, tool_choice: choice, max_tokens: 23, ...more }, key)
      ).body
    }

    it('is a block with the input as far as it was written', async () => {
      const body = await ask()
      const block = { type: 'tool_use', name: 'go', input: { at: 1, way: 'no' } }
      expect(body).toMatchObject({ stop_reason: 'max_tokens', content: [block] })
    })

    it('is streamed as it was written', async () => {
      const events: string = await ask({ stream: true })
      expect(events).toContain(`"partial_json":${JSON.stringify(WRITTEN.trim())}`)
      expect(events).toContain('"stop_reason":"max_tokens"')
    })
  })
})

describe('no thought', () => {
  const CHATML =
    '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n'
  /** As Qwen3's ends. */
  const ASKS = `${CHATML}{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}`
  const ALWAYS = `${CHATML}{{ '<think>\n' }}{% endif %}`
  const fields = [
    ['/api/chat', { think: false }],
    ['/v1/messages', { thinking: { type: 'disabled' } }],
    ['/v1/chat/completions', { reasoning_effort: 'none' }],
    ['/v1/chat/completions', { chat_template_kwargs: { enable_thinking: false } }],
  ] as const

  const askWith = async (chatTemplate: string, [path, more]: readonly [string, object]) => {
    const prompts: string[] = []
    g = await testGateway({
      chatTemplate,
      write(prompt) {
        prompts.push(prompt)
        return 'x'
      },
    })
    const { base_url: url, api_key: key } = await g.open()
    const asked = { messages: [user('hi')], max_tokens: 9, stream: false, ...more }
    const { headers } = await g.post(url.replace(/\/v1$/, path), asked, key)
    const ignored = headers.get('x-waggle-ignored')?.split(', ') ?? []
    return { prompt: prompts[0]!, isIgnored: ignored.includes(Object.keys(more)[0]!) }
  }

  it.each(fields)('is told to a template that asks: %s %j', async (...field) => {
    const { prompt, isIgnored } = await askWith(ASKS, field)
    expect([prompt.endsWith('<think>\n\n</think>\n\n'), isIgnored]).toEqual([true, false])
  })

  it.each(fields)('is granted by a template that opens none: %s %j', async (...field) => {
    const { prompt, isIgnored } = await askWith(`${CHATML}{% endif %}`, field)
    expect([prompt.endsWith('assistant\n'), isIgnored]).toEqual([true, false])
  })

  it.each(fields)('is named where the template opens one all the same: %s %j', async (...field) => {
    const { prompt, isIgnored } = await askWith(ALWAYS, field)
    expect([prompt.endsWith('<think>\n'), isIgnored]).toEqual([true, true])
  })

  it('is begun once before a call that must be made', async () => {
    const template = `{% for m in messages %}{{ m.role }}\n{% if m.tool_calls %}{{ '<think>\n\n</think>\n\n<tool_call>{"name": "' + m.tool_calls[0].function.name + '", "arguments": ' }}{{ m.tool_calls[0].function.arguments | tojson }}{{ '}</tool_call>' }}{% else %}{{ m.content }}{% endif %}<|im_end|>{% endfor %}{% if add_generation_prompt %}assistant\n{% if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}`
    const forced = { tools: [tool('go')], tool_choice: 'required', reasoning_effort: 'none' }
    const { prompt } = await askWith(template, ['/v1/chat/completions', forced])
    expect(prompt.slice(prompt.lastIndexOf('assistant'))).toBe(
      'assistant\n<think>\n\n</think>\n\n<tool_call>{"name": "',
    )
  })

  it.each([
    [ASKS, false],
    [`${CHATML}{% endif %}`, true],
  ])(
    'is the opposite of a thought, which is named where no template asks (%#)',
    async (template, expected) => {
      const kwargs = { chat_template_kwargs: { enable_thinking: true } }
      expect((await askWith(template, ['/v1/chat/completions', kwargs])).isIgnored).toBe(expected)
    },
  )
})

describe('a form of an answer that begins within a thought', () => {
  const OPENS =
    "{% for m in messages %}{{ m.role }}\n{% if m.role == 'assistant' %}<think>\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}assistant\n{{ '<think>\n' }}{% endif %}"
  const THOUGHT = 'maybe {"at": 0}? No.\n'
  const json = '{"at": 1}'
  const asked = { messages: [user('go')], max_tokens: 99 }
  const format = { type: 'json_schema', json_schema: { schema } }
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  type Read = (answer: any) => string | undefined
  const dialects: [string, object, Read, Read][] = [
    [
      '/v1/chat/completions',
      { ...asked, response_format: format },
      (one) => one.choices[0].message.content,
      (one) => one.choices?.[0]?.delta.content,
    ],
    [
      '/v1/responses',
      { input: 'go', text: { format: { type: 'json_schema', schema } } },
      (one) => one.output[0].content[0].text,
      (one) => (one.type === 'response.output_text.delta' ? one.delta : ''),
    ],
    [
      '/v1/messages',
      { ...asked, output_config: { format: { type: 'json_schema', schema } } },
      (one) => one.content[0].text,
      (one) => one.delta?.text,
    ],
    ['/api/chat', { ...asked, format: schema }, (one) => one.message.content, (one) => one.message.content],
    ['/api/generate', { prompt: 'go', format: schema }, (one) => one.response, (one) => one.response],
  ]
  const withTools = {
    ...asked,
    response_format: format,
    tools: [{ type: 'function', function: { name: 'look' } }],
  }
  dialects.push(['/v1/chat/completions', withTools, dialects[0]![2], dialects[0]![3]])

  async function openThought(answer = `${THOUGHT}</think>\n\n${json}`) {
    g = await testGateway({ chatTemplate: OPENS, write: () => answer })
    const rollout = await g.open({ group: 'one' })
    const post = (path: string, body: object) =>
      g.post(rollout.base_url.replace(/\/v1$/, path), body, rollout.api_key)
    return { rollout, post }
  }

  it.each(dialects)('is what the client gets, without the thought: %s %j', async (path, body, read) => {
    const { post } = await openThought()
    expect(read((await post(path, { ...body, stream: false })).body)).toBe(json)
  })

  it.each(dialects)('is what is streamed, without the thought: %s %j', async (path, body, _, read) => {
    const { post } = await openThought()
    const text: string = (await post(path, { ...body, stream: true })).body
    const lines = text.split('\n').map((line) => line.replace(/^data: /, ''))
    const pieces = lines.filter((line) => line.startsWith('{')).map((line) => read(JSON.parse(line)) ?? '')
    expect(pieces.join('')).toBe(json)
  })

  it('is kept, whatever the thought is', async () => {
    const { post } = await openThought()
    await post('/v1/chat/completions', { ...asked, response_format: format })
    expect(g.info().unkept).toBeUndefined()
  })

  it('is nothing yet where the limit cuts the thought', async () => {
    const { post } = await openThought()
    const { body } = await post('/v1/chat/completions', { ...asked, response_format: format, max_tokens: 9 })
    expect(body.choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'length' })
  })

  it('may be a call, though the thought has another', async () => {
    const { post } = await openThought(`${call('look', '{"n": 1}')}?</think>\n\n${call('look', '{"n": 2}')}`)
    const { body } = await post('/v1/chat/completions', { ...withTools, max_tokens: 200 })
    expect(body.choices[0].message).toMatchObject({
      content: null,
      tool_calls: [{ function: { arguments: '{"n": 2}' } }],
    })
  })

  it('is trained on with its thought, in one sequence with what follows', async () => {
    const { rollout, post } = await openThought()
    const body = { ...asked, response_format: format }
    await post('/v1/chat/completions', body)
    const messages = [user('go'), { role: 'assistant', content: json }, user('again')]
    await post('/v1/chat/completions', { ...body, messages })
    const { calls } = (await g.get(`/v1/rollouts/${rollout.id}/calls`)).body
    expect(calls.map(({ row }: { row: number }) => row)).toEqual([0, 0])
  })
})

describe.each(['/v1/messages', '/api/chat'])('an answer that the client has begun (%s)', (path) => {
  const begun = { role: 'assistant', content: '{"name":' }
  // biome-ignore lint/suspicious/noExplicitAny: answers of two shapes
  const textOf = (body: any): string => body.message?.content ?? body.content[0].text

  async function openBegun(more: Partial<Parameters<typeof testGateway>[0]> = {}) {
    const prompts: string[] = []
    g = await testGateway({
      write(prompt) {
        prompts.push(prompt)
        return ' "x"}'
      },
      ...more,
    })
    const rollout = await g.open({ group: 'one' })
    const ask = (messages: object[], more: object = {}) =>
      g.post(
        rollout.base_url.replace(/\/v1$/, path),
        { messages, ...(path === '/v1/messages' ? { max_tokens: 64 } : {}), stream: false, ...more },
        rollout.api_key,
      )
    return { prompts, rollout, ask }
  }

  it('is gone on with', async () => {
    const { prompts, ask } = await openBegun()
    const { body, headers } = await ask([user('go'), begun])
    expect([prompts[0]!.endsWith('assistant\n{"name":'), textOf(body)]).toEqual([true, ' "x"}'])
    expect(headers.get('x-waggle-ignored') ?? '').not.toContain('prefill')
  })

  it('has no special tokens', async () => {
    const { prompts, ask } = await openBegun()
    await ask([user('go'), { role: 'assistant', content: '{<|im_end|>' }])
    const [asked] = g.engine.requests[0]!.samples
    expect(prompts[0]!.endsWith('{')).toBe(true)
    expect(g.tokenizer.isSpecial(asked!.prompt.at(-1)!)).toBe(false)
  })

  it('is one sequence with what follows', async () => {
    const { rollout, ask } = await openBegun()
    await ask([user('go'), begun])
    await ask([user('go'), { role: 'assistant', content: '{"name": "x"}' }, user('again')])
    const { calls } = (await g.get(`/v1/rollouts/${rollout.id}/calls`)).body
    expect(calls.map(({ row }: { row: number }) => row)).toEqual([0, 0])
  })

  it('is named where a form is wanted, which is that of a whole answer', async () => {
    const { ask } = await openBegun()
    const format = { type: 'json_schema', schema }
    const { headers } = await ask(
      [user('go'), begun],
      path === '/api/chat' ? { format: schema } : { output_config: { format } },
    )
    expect(headers.get('x-waggle-ignored')).toContain('messages.prefill')
  })

  it('is named where the template opens a thought', async () => {
    const chatTemplate =
      "{% for m in messages %}{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}assistant\n{{ '<think>\n' }}{% endif %}"
    const { prompts, ask } = await openBegun({ chatTemplate })
    const { headers } = await ask([user('go'), begun])
    expect(headers.get('x-waggle-ignored')).toContain('messages.prefill')
    expect(prompts[0]!.endsWith('<think>\n')).toBe(true)
  })

  it('is refused there if agents.strict is set', async () => {
    const { ask } = await openBegun({ strict: true })
    const more = path === '/api/chat' ? { format: 'json' } : { output_config: { format: { type: 'json' } } }
    expect((await ask([user('go'), begun], more)).status).toBe(400)
  })
})

it('settings that are ignored are counted by name, up to a number of names', async () => {
  await play('x')
  const rollout = await g.open()
  await g.chat(rollout, [user('hi')], { model: 'mine', top_p: 0.5 })
  await g.chat(rollout, [user('hi')], Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`f${i}`, i])))
  await g.chat(rollout, [user('hi')], { g1: 1 })
  const { unkept = {} } = g.info()
  expect(unkept.top_p).toBe(1)
  expect(Object.keys(unkept)).toHaveLength(17)
  expect(unkept.other).toBe(2)
})
