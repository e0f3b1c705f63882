// Characters that take several tokens: cut in the middle, in every dialect, streamed and not, and the bytes of tokens.

import { afterEach, describe, expect, it } from 'vitest'
import { byteTokenizer } from '../policy/tokenizers.ts'
import { type Opened, type TestGateway, testGateway } from './gateway.ts'

let g: TestGateway
afterEach(async () => await g?.close())

const KINDS = ['byte-level', 'byte-fallback'] as const
/** Two, three and four bytes a character. */
const TEXT = 'é€🐝.'
const BYTES = [...Buffer.from(TEXT)]

const withText = (kind: (typeof KINDS)[number], write: (prompt: string) => string = () => TEXT) =>
  testGateway({ write, tokenizer: byteTokenizer(kind) })

/** Each dialect with text: asks for so many tokens, and returns the text of the answer. */
const DIALECTS: Record<string, (rollout: Opened, ask: { limit?: number; stop?: string }) => Promise<string>> =
  {
    async chat(rollout, { limit, stop }) {
      const { body } = await g.chat(rollout, MESSAGES, { max_tokens: limit, stop })
      return body.choices[0].message.content
    },
    async 'chat with tools'(rollout, { limit, stop }) {
      const { body } = await g.chat(rollout, MESSAGES, { max_tokens: limit, stop, tools: TOOLS })
      return body.choices[0].message.content
    },
    async completions(rollout, { limit, stop }) {
      const { body } = await post(rollout, '/completions', { prompt: 'hi', max_tokens: limit, stop })
      return body.choices[0].text
    },
    async responses(rollout, { limit }) {
      const { body } = await post(rollout, '/responses', { input: 'hi', max_output_tokens: limit })
      return body.output[0].content[0].text
    },
    async 'chat, streamed'(rollout, { limit, stop }) {
      const body = { messages: MESSAGES, max_tokens: limit, stop, stream: true }
      return joined(await post(rollout, '/chat/completions', body), (one) => one.choices[0]?.delta.content)
    },
    async 'chat with tools, streamed'(rollout, { limit, stop }) {
      const body = { messages: MESSAGES, max_tokens: limit, stop, tools: TOOLS, stream: true }
      return joined(await post(rollout, '/chat/completions', body), (one) => one.choices[0]?.delta.content)
    },
    async 'completions, streamed'(rollout, { limit, stop }) {
      const body = { prompt: 'hi', max_tokens: limit, stop, stream: true }
      return joined(await post(rollout, '/completions', body), (one) => one.choices[0]?.text)
    },
    async 'responses, streamed'(rollout, { limit }) {
      const body = { input: 'hi', max_output_tokens: limit, stream: true }
      return joined(await post(rollout, '/responses', body), (one) =>
        one.type === 'response.output_text.delta' ? one.delta : '',
      )
    },
  }
const MESSAGES = [{ role: 'user', content: 'hi' }]
const TOOLS = [{ type: 'function', function: { name: 'look', parameters: {} } }]

const post = (rollout: Opened, path: string, body: object) =>
  g.post(`${rollout.base_url}${path}`, body, rollout.api_key)

// biome-ignore lint/suspicious/noExplicitAny: events of several shapes
function joined({ body }: { body: string }, textOf: (event: any) => string | undefined): string {
  expect(body).not.toContain('\ufffd')
  const events = body.split('\n').filter((line) => line.startsWith('data: {'))
  return events.map((line) => textOf(JSON.parse(line.slice(6))) ?? '').join('')
}

describe.each(KINDS)('with tokens of single bytes (%s), a limit in the middle of a character', (kind) => {
  it.each(Object.keys(DIALECTS))('sends only whole characters: %s', async (dialect) => {
    g = await withText(kind)
    const wholes = ['', '', 'é', 'é', 'é', 'é€', 'é€', 'é€', 'é€', 'é€🐝', TEXT]
    for (const limit of [1, 2, 3, 4, 6, 8, 9])
      expect(await DIALECTS[dialect]!(await g.open(), { limit })).toBe(wholes[limit])
  })
})

describe.each(KINDS)('with tokens of single bytes (%s), a stop string', (kind) => {
  const stopped = Object.keys(DIALECTS).filter((dialect) => !dialect.startsWith('responses'))

  it.each(stopped)('is found within characters of several tokens: %s', async (dialect) => {
    g = await withText(kind)
    expect(await DIALECTS[dialect]!(await g.open(), { stop: '€' })).toBe('é')
    expect(await DIALECTS[dialect]!(await g.open(), { stop: '🐝.' })).toBe('é€')
    // é and è begin with the same byte.
    expect(await DIALECTS[dialect]!(await g.open(), { stop: 'è' })).toBe(TEXT)
  })

  it.each(stopped)(
    'that is not reached before the limit cuts a character leaves it out: %s',
    async (dialect) => {
      g = await withText(kind)
      expect(await DIALECTS[dialect]!(await g.open(), { stop: '🐝', limit: 7 })).toBe('é€')
      expect(await DIALECTS[dialect]!(await g.open(), { stop: '€🐝', limit: 7 })).toBe('é€')
    },
  )
})

it('U+FFFD that the model wrote is sent, where a limit cuts behind it as well', async () => {
  g = await withText('byte-level', () => 'a\ufffdb')
  for (const dialect of ['chat', 'completions', 'responses'])
    expect(await DIALECTS[dialect]!(await g.open(), { limit: 4 })).toBe('a\ufffd')
})

it('a conversation goes on from an answer whose last character was cut', async () => {
  g = await withText('byte-level')
  const rollout = await g.open()
  const first = await g.chat(rollout, MESSAGES, { max_tokens: 4 })
  const said = first.body.choices[0].message
  await g.chat(rollout, [...MESSAGES, { role: 'assistant', content: said.content }, ...MESSAGES])
  const { calls } = (await g.get(`/v1/rollouts/${rollout.id}/calls`)).body
  expect(calls.map(({ row }: { row: number }) => row)).toEqual([0, 0])
})

describe.each(KINDS)('with tokens of single bytes (%s), log-probs', (kind) => {
  // biome-ignore lint/suspicious/noExplicitAny: what the API answers
  const bytesOf = (content: any[]) => content.flatMap(({ bytes }) => bytes)

  it('have the bytes of each token, in chat, responses and generate; joined they are the text', async () => {
    g = await withText(kind)
    const rollout = await g.open()
    const chat = await g.chat(rollout, MESSAGES, { logprobs: true })
    const { content } = chat.body.choices[0].logprobs
    expect(bytesOf(content)).toEqual(BYTES)
    expect(content.map(({ bytes }: { bytes: number[] }) => bytes.length)).toEqual([...BYTES.map(() => 1), 0])
    expect(content[0].token).toBe('\\xc3')
    expect(content.at(-2)).toMatchObject({ token: '.', bytes: [46] })

    const include = ['message.output_text.logprobs']
    const responses = await post(rollout, '/responses', { input: 'hi', include })
    expect(bytesOf(responses.body.output[0].content[0].logprobs)).toEqual(BYTES)

    const tokens = [...g.tokenizer.encode('hi')]
    const sampling_params = { logprobs: 1 }
    const generate = await g.post(
      `${rollout.base_url.replace(/\/v1$/, '')}/inference/v1/generate`,
      { token_ids: tokens, sampling_params },
      rollout.api_key,
    )
    expect(bytesOf(generate.body.choices[0].logprobs.content)).toEqual(BYTES)
  })

  it('of a cut answer have all bytes that were sampled', async () => {
    g = await withText(kind)
    const { body } = await g.chat(await g.open(), MESSAGES, { logprobs: true, max_tokens: 4 })
    expect(bytesOf(body.choices[0].logprobs.content)).toEqual(BYTES.slice(0, 4))
  })

  it('of completions say at which character each token belongs', async () => {
    g = await withText(kind)
    const { body } = await post(await g.open(), '/completions', { prompt: 'hi', logprobs: 1 })
    const { tokens, text_offset: offsets } = body.choices[0].logprobs
    expect(offsets).toEqual([0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4])
    expect(tokens.slice(0, 3)).toEqual(['bytes:\\xc3', 'bytes:\\xa9', 'bytes:\\xe2'])
    expect(tokens.at(-2)).toBe('.')
  })
})
