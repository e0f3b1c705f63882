// Streams: text is sent as soon as nothing that is held back can begin in it.

import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import type { Attempt, Call } from '../../daemon/agents/book/rollout.ts'
import { liveContent } from '../../daemon/agents/dialects/live.ts'
import { answerOf } from '../../daemon/agents/dialects/tools.ts'
import { stopAt } from '../../daemon/agents/writing/stops.ts'
import { createTokenReader } from '../../daemon/policy/tokens/reader.ts'
import { type TestGateway, testGateway } from './gateway.ts'

const TOOLS = [{ type: 'function' as const, function: { name: 'look', parameters: {} } }]
const CALL = '<tool_call>{"name": "look", "arguments": {"at": "here"}}</tool_call>'
/** One token is one character. */
const tokenizer = {
  reader: () =>
    createTokenReader({
      bytesOf: (token) => Buffer.from(String.fromCodePoint(token)),
      isLeftOut: () => false,
      decode: (tokens) => String.fromCodePoint(...tokens),
    }),
}

/** An answer that the test writes, and what a client has been sent of it. */
function open({ tools = [] as typeof TOOLS, stop = [] as string[] }) {
  const listeners = new Set<() => void>()
  const { promise: done, resolve } = Promise.withResolvers<Call>()
  const drawn: number[] = []
  const listen = (run: () => void) => {
    listeners.add(run)
    return () => void listeners.delete(run)
  }
  const seen = { text: '' }
  const all = (async () => {
    const attempt = { drawn, done, listen } as unknown as Attempt
    for await (const piece of liveContent(attempt, { tools, stop }, tokenizer)) seen.text += piece
  })()
  const text = () => String.fromCodePoint(...drawn)
  const rest = async () => {
    for (let i = 0; i < 20; i++) await Promise.resolve()
  }
  return {
    seen,
    async write(more: string) {
      for (const char of more) {
        drawn.push(char.codePointAt(0)!)
        for (const listener of listeners) listener()
        if (stopAt(text(), stop) !== undefined) break
      }
      await rest()
      return seen.text
    },
    async end() {
      resolve({ id: 'x', shown: text().slice(0, stopAt(text(), stop)) } as Call)
      await all
      return seen.text
    },
  }
}

describe('with tools, a stream', () => {
  it('sends text at once, and holds back what may be a call', async () => {
    const { write, end } = open({ tools: TOOLS })
    expect(await write('I will look. 1 < 2')).toBe('I will look. 1 < 2')
    expect(await write(' \n<tool')).toBe('I will look. 1 < 2')
    expect(await write('box> is not it')).toBe('I will look. 1 < 2 \n<toolbox> is not it')
    expect(await write(`\n${CALL}\n`)).toBe('I will look. 1 < 2 \n<toolbox> is not it')
    expect(await end()).toBe('I will look. 1 < 2 \n<toolbox> is not it')
  })

  it('sends what a model only thinks about', async () => {
    const { write, end } = open({ tools: TOOLS })
    expect(await write(`<think>maybe ${CALL}`)).toBe(`<think>maybe ${CALL}`)
    expect(await write('</think>No.')).toBe(`<think>maybe ${CALL}</think>No.`)
    expect(await end()).toBe(`<think>maybe ${CALL}</think>No.`)
  })

  it('sends a call after all that turns out to be part of a thought', async () => {
    const { write, end } = open({ tools: TOOLS })
    expect(await write('maybe ')).toBe('maybe')
    expect(await write(`${CALL} or`)).toBe('maybe')
    expect(await write('</think>No.')).toBe(`maybe ${CALL} or</think>No.`)
    expect(await end()).toBe(`maybe ${CALL} or</think>No.`)
  })
})

describe('with stop strings, a stream', () => {
  it('sends text at once, and holds back what may be one of them', async () => {
    const { write, end } = open({ stop: ['\nObs', 'END'] })
    expect(await write('one\n')).toBe('one')
    expect(await write('Or two E')).toBe('one\nOr two ')
    expect(await write('NT\nObs')).toBe('one\nOr two ENT')
    expect(await end()).toBe('one\nOr two ENT')
  })
})

it('the pieces of a stream are the content of the whole answer', async () => {
  const part = fc.constantFrom(
    CALL,
    '<think>',
    '</think>',
    '\n',
    ' ',
    'word',
    '<',
    'EN',
    'END',
    '{"name": "look"}',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 8 }), fc.boolean(), fc.boolean(), async (parts, a, b) => {
      const tools = a ? TOOLS : []
      const stop = b ? ['END', 'word '] : []
      const { write, end } = open({ tools, stop })
      for (const one of parts) await write(one)
      const text = parts.join('')
      // A stop string ends the answer in the middle of a part, and nothing is drawn after it.
      const shown = text.slice(0, stopAt(text, stop))
      if (stopAt(text, stop) !== undefined) return void (await end())
      expect(await end()).toBe(answerOf({ id: 'x', shown }, tools).content)
    }),
    { numRuns: 500 },
  )
})

describe('a silent stream', () => {
  let g: TestGateway
  afterEach(() => g.close())

  it('is kept open by comments, and by empty pieces for clients that count those', async () => {
    g = await testGateway({ write: () => 'at last' })
    const rollout = await g.open()
    const letGo = g.hold()
    const body = { messages: [{ role: 'user', content: 'go' }], stream: true, tools: TOOLS, stop: 'END' }
    const arrival = g.arrival()
    const asked = g.post(`${rollout.base_url}/chat/completions`, body, rollout.api_key)
    await arrival
    for (let i = 0; i < 3; i++) await g.pass(11_000)
    letGo()
    const { body: text } = await asked
    expect(text.split('\n').filter((line: string) => line.startsWith(':'))).toHaveLength(3)
    const pieces = [...text.matchAll(/"delta":\{"content":"([^"]*)"\}/g)].map(([, piece]) => piece)
    expect(pieces.join('')).toBe('at last')
    expect(pieces.filter((piece) => piece === '')).toHaveLength(3)
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
  })
})
