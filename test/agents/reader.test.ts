// What of a model's answer is text, and what is a call of a tool.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createReader } from '../../daemon/agents/dialects/reader.ts'
import { answerOf } from '../../daemon/agents/dialects/tools.ts'

const tools = ['cancel', 'write'].map((name) => ({ type: 'function' as const, function: { name } }))
const read = (shown: string, promptText?: string) => {
  const { content, calls } = answerOf({ id: 'x', shown, promptText }, tools)
  return { content, calls: calls.map(({ name, arguments: text }) => [name, text]) }
}
const call = (args: string, name = 'cancel') =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`

describe('arguments', () => {
  it.each([
    '{"order_id": 9007199254740993}',
    '{"ratio": 1.0, "list": [1e5, -0,  0.10]}',
    '{"10": 1, "2": 2, "a": {"b" : [ ]}}',
    '{"text": "\\u00e9\\/ \\" } ] , ", "x": 1}',
    '[1.0, {"a": 2.50}]',
    '7.0',
    '{}',
  ])('%s arrive as the model wrote them', (args) => {
    expect(read(call(args)).calls).toEqual([['cancel', args]])
    expect(read(`{"name": "cancel", "parameters": ${args}}`).calls).toEqual([['cancel', args]])
    expect(read(`[{"parameters":${args},"name":"cancel"} , {"name": "write"}]`).calls).toEqual([
      ['cancel', args],
      ['write', '{}'],
    ])
  })

  it('that are a string hold JSON; those that are missing, null or no text are an empty object', () => {
    expect(read(call('""')).calls).toEqual([['cancel', '{}']])
    expect(read(call('"{\\"n\\": 1.0}"')).calls).toEqual([['cancel', '{"n": 1.0}']])
    expect(read('<tool_call>{"name": "cancel"}</tool_call>').calls).toEqual([['cancel', '{}']])
    expect(read(call('null')).calls).toEqual([['cancel', '{}']])
  })

  it('may hold the tags of calls and thoughts as text', () => {
    const args = '{"text": "a </tool_call> b <tool_call> <think> </think> c"}'
    expect(read(`Now: ${call(args)}${call('{}')} Done.`)).toEqual({
      content: 'Now:  Done.',
      calls: [
        ['cancel', args],
        ['cancel', '{}'],
      ],
    })
    expect(read(`{"name": "write", "arguments": ${args}}`).calls).toEqual([['write', args]])
  })
})

describe('thoughts', () => {
  it('hold no calls', () => {
    const thought = `<think>maybe ${call('{"n": 1}')}? No.</think>\n\n`
    expect(read(`${thought}I will not.`)).toEqual({ content: `${thought}I will not.`, calls: [] })
    expect(read(`${thought}${call('{"n": 2}')}`)).toEqual({
      content: thought.trimEnd(),
      calls: [['cancel', '{"n": 2}']],
    })
    expect(read(`${thought}{"name": "cancel", "parameters": {}}`).calls).toEqual([['cancel', '{}']])
    expect(read(`<thinking>${call('{}')}</thinking>no`).calls).toEqual([])
  })

  it('in the middle of an answer are thoughts as well', () => {
    expect(
      read(`So: ${call('{"n": 1}')}<think>or ${call('{"n": 2}')}</think>${call('{"n": 3}')}`).calls,
    ).toEqual([
      ['cancel', '{"n": 1}'],
      ['cancel', '{"n": 3}'],
    ])
  })

  it('that the prompt has begun end where the answer says so, or not at all', () => {
    const written = `maybe ${call('{"n": 1}')}? No.</think>`
    expect(read(`${written}${call('{"n": 2}')}`).calls).toEqual([['cancel', '{"n": 2}']])
    expect(read(`${written} I will not.`)).toEqual({ content: `${written} I will not.`, calls: [] })
    const cut = `maybe ${call('{"n": 1}')}`
    expect(read(cut, 'assistant\n<think>\n')).toEqual({ content: cut, calls: [] })
    expect(read(cut, 'assistant\n<think>\n\n</think>\n\n').calls).toHaveLength(1)
  })

  it('that were cut off hold no calls', () => {
    expect(read(`<think>maybe ${call('{}')}`).calls).toEqual([])
  })
})

describe('text', () => {
  it.each([
    ['a call of an unknown tool', call('{}', 'nothing')],
    ['a call that was cut off', '<tool_call>\n{"name": "cancel", "arg'],
    ['what is not JSON', '<tool_call>cancel it</tool_call>'],
    ['JSON that goes on', `<tool_call>{"name": "cancel", "arguments": {}}}</tool_call>`],
    ['JSON that is no call', '{"name": "nothing", "arguments": {}}'],
    ['JSON in a sentence', 'I would say {"name": "cancel", "arguments": {}}'],
    ['a call with a sentence after it and without tags', '{"name": "cancel", "arguments": {}} is what I say'],
    ['JSON nested too deep', call(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
    ['signs', ' a < b, <tool>, <think\n '],
  ])('%s is text', (_, text) => {
    expect(read(text)).toEqual({ content: text, calls: [] })
  })

  it('a call is found behind one that fails', () => {
    expect(read(`<tool_call>{oops ${call('{}')}`).calls).toEqual([['cancel', '{}']])
    expect(read('<tool_call>{"name": "cancel", "arguments": {}}').calls).toHaveLength(1)
    expect(read(`<tool_call>{"name": "cancel"}${call('{}')}`).calls).toHaveLength(2)
  })
})

it('an answer reads the same, however it arrives, and what is told before the first call stays', () => {
  const pieces = fc.constantFrom(
    ...[
      '<tool_call>',
      '</tool_call>',
      '<think>',
      '</think>',
      '{"name": "cancel", "arguments": {"a": "',
      '"}}',
    ],
    ...[
      '\n',
      ' ',
      'x',
      '<',
      '{',
      '}',
      '"',
      '\\',
      '[',
      ']',
      '{"name": "write"}',
      '</tool_call> <tool',
      '_call>',
    ],
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), fc.array(fc.nat(40), { maxLength: 8 }), (made, cuts) => {
      const text = made.join('')
      const names = new Set(['cancel', 'write'])
      const whole = createReader({ names })
      whole.read(text, true)
      const live = createReader({ names })
      let told = ''
      for (const cut of [...cuts].sort((a, b) => a - b)) {
        live.read(text.slice(0, cut), false)
        if (live.calls.length === 0) told = live.content
      }
      live.read(text, true)
      expect([live.content, live.calls]).toEqual([whole.content, whole.calls])
      expect(whole.content.startsWith(told)).toBe(true)
    }),
    { numRuns: 3000 },
  )
})
