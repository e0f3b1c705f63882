// Calls without a rollout: who may make them, what they choose, in which order they are answered, and what stays of them.

import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { SERVE_KEY, type TestGateway, type TestOptions, TOKEN, testGateway } from './gateway.ts'

const messages = [{ role: 'user', content: 'hello' }]
let g: TestGateway
afterEach(() => g.close())

const open = async (options: Partial<TestOptions> = {}): Promise<void> => {
  g = await testGateway({ write: (_, { seed }) => `said ${seed % 10}`, ...options })
}
const ask = (body: object = {}, key = SERVE_KEY, headers = {}) =>
  g.post(`${g.serving.url}/v1/chat/completions`, { messages, ...body }, key, headers)

describe('a served call', () => {
  it('is answered in every dialect, and nothing of it is trained on', async () => {
    await open()
    for (const [path, body] of [
      ['/v1/chat/completions', { messages }],
      ['/v1/responses', { input: 'hello' }],
      ['/v1/completions', { prompt: 'hello' }],
      ['/inference/v1/generate', { token_ids: [72, 73] }],
    ] as const)
      expect((await g.post(g.serving.url + path, { model: 'tiny', ...body }, SERVE_KEY)).status).toBe(200)
    expect((await g.post('/v1/chat/completions', { messages })).status).toBe(200)
    expect(g.serving.info()).toMatchObject({ answered: 5, running: 0, waiting: 0, refused: 0 })
    expect(g.info()).toMatchObject({ open: 0, begun: 0, rewarded: 0, groups: 0 })
  })

  it('chooses its distribution and its seed, else gets the one of a chat', async () => {
    await open()
    await ask()
    await ask({ temperature: 0, top_p: 1, top_k: 40, min_p: 0.1, seed: 7 })
    const [first, second] = g.engine.requests
    expect(first).toMatchObject({ temperature: 0.6, topP: 0.9, isInteractive: true })
    expect(second).toMatchObject({ temperature: 0, topK: 40, minP: 0.1, samples: [{ seed: 7 }] })
    expect(second!.topP).toBeUndefined()
  })

  it.each([
    { temperature: -1 },
    { temperature: '1' },
    { top_p: 0 },
    { top_k: 1.5 },
    { seed: 0.5 },
    { min_p: 2 },
  ])('with %o gets a clear error', async (wrong) => {
    await open()
    const { status, body } = await ask(wrong)
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringMatching(new RegExp(`"${Object.keys(wrong)[0]}" must be a`)),
    ])
  })

  it('for several answers is told to make a call for each', async () => {
    await open()
    const { status, body } = await ask({ n: 2 })
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('make a call for each')])
  })

  it('that continues an earlier response is told to send the history, and of no rollout', async () => {
    await open()
    const url = `${g.serving.url}/v1/responses`
    for (const [more, status] of [
      [{ previous_response_id: `resp_${'0'.repeat(24)}` }, 404],
      [{ conversation: 'conv_1' }, 400],
    ] as const) {
      const answer = await g.post(url, { model: 'tiny', input: 'and?', ...more }, SERVE_KEY)
      expect([answer.status, answer.body.error.message]).toEqual([
        status,
        expect.stringMatching(/in "input"\.\)$/),
      ])
      expect(answer.body.error.message).not.toContain('rollout')
    }
  })

  it('may not choose where the sampler knows only the policy itself', async () => {
    await open({ serve: { sampling: undefined } })
    const { status, headers } = await ask({ temperature: 0.2 })
    expect([status, headers.get('x-waggle-ignored')]).toEqual([200, 'temperature'])
    expect(g.engine.requests[0]).toMatchObject({ temperature: 1 })
  })

  it('of another model is refused with the name of the one that is there', async () => {
    await open()
    const { status, body } = await ask({ model: 'gpt-5' })
    expect([status, body.error.code]).toEqual([404, 'model_not_found'])
    expect(body.error.message).toContain('"tiny"')
    for (const model of ['tiny', 'waggle', 'tiny:latest']) expect((await ask({ model })).status).toBe(200)
  })
})

describe('keys', () => {
  it('for serving open nothing but serving, and no other key opens it', async () => {
    await open()
    const rollout = await g.open()
    for (const key of ['', 'wrong', TOKEN, rollout.api_key]) expect((await ask({}, key)).status).toBe(401)
    for (const path of ['/v1/rollouts', '/v1/chat/completions', `/v1/rollouts/${rollout.id}/reward`])
      expect((await g.post(path, { messages }, SERVE_KEY)).status).toBe(401)
    for (const path of ['/v1/rollouts', `/v1/rollouts/${rollout.id}`, `/rollouts/${rollout.id}/v1/models`])
      expect((await g.get(g.serving.url + path, SERVE_KEY)).status).toBe(404)
  })
})

describe('web pages', () => {
  const preflight = (origin: string) =>
    fetch(`${g.serving.url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-headers': 'authorization' },
    })

  it('may ask from the origins that the config names, and from no others', async () => {
    await open({ serve: { origins: ['https://chat.example'] } })
    const asked = await preflight('https://chat.example')
    expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([204, 'authorization'])
    const answered = await ask({}, SERVE_KEY, { origin: 'https://chat.example' })
    expect(answered.headers.get('access-control-allow-origin')).toBe('https://chat.example')
    const other = await preflight('https://evil.example')
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null])
    expect((await ask({}, SERVE_KEY, { origin: 'null' })).status).toBe(403)
  })
})

describe('the line', () => {
  it('is bounded: who does not fit is told when to come again', async () => {
    await open({ serve: { maxRunning: 1, maxWaiting: 1 } })
    const release = g.hold()
    const asked = [ask(), ask()]
    await expect.poll(() => g.serving.info()).toMatchObject({ running: 1, waiting: 1 })
    const { status, headers } = await ask()
    expect([status, Number(headers.get('retry-after'))]).toEqual([429, 4])
    release()
    expect((await Promise.all(asked)).map((one) => one.status)).toEqual([200, 200])
    expect(g.serving.info()).toMatchObject({ running: 0, waiting: 0, answered: 2, refused: 1 })
  })

  it('moves up at once when somebody hangs up, waiting or being answered', async () => {
    await open({ serve: { maxRunning: 1, maxWaiting: 2 } })
    const release = g.hold()
    const leaving = [new AbortController(), new AbortController()]
    const url = `${g.serving.url}/v1/chat/completions`
    const init = { method: 'POST', headers: { authorization: `Bearer ${SERVE_KEY}` } }
    const gone = []
    for (const [i, { signal }] of leaving.entries()) {
      gone.push(fetch(url, { ...init, signal, body: JSON.stringify({ messages }) }).catch(() => 'gone'))
      await expect.poll(() => g.serving.info()).toMatchObject({ running: 1, waiting: i })
    }
    const last = ask()
    await expect.poll(() => g.serving.info()).toMatchObject({ running: 1, waiting: 2 })
    for (const one of leaving) one.abort()
    expect(await Promise.all(gone)).toEqual(['gone', 'gone'])
    await expect.poll(() => g.serving.info()).toMatchObject({ abandoned: 2 })
    release()
    expect((await last).status).toBe(200)
    expect(g.serving.info()).toMatchObject({ running: 0, waiting: 0, answered: 1, abandoned: 2 })
  })
})

it('a client that leaves while it sends its request is no bug', async () => {
  const logged: string[] = []
  await open({ log: (_, message) => logged.push(message) })
  const { hostname, port } = new URL(g.serving.url!)
  const begun = new Promise<IncomingMessage>((resolve) =>
    subscribe('http.server.request.start', (message) =>
      resolve((message as { request: IncomingMessage }).request),
    ),
  )
  const socket = connect(Number(port), hostname)
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${SERVE_KEY}\r\n`
  socket.write(`${head}content-length: 300\r\n\r\n{"messages":`)
  const request = await begun
  const gone = new Promise((resolve) => request.once('close', resolve))
  socket.destroy()
  await gone
  expect((await ask()).status).toBe(200)
  expect(logged).toEqual([])
})

describe('models', () => {
  it('besides the present policy are listed, and answer when they are named', async () => {
    const others = { base: () => 'of the base', '000002-step-10': () => 'of step 10' }
    await open({ write: () => 'of the policy', others })
    const names = ['tiny', 'tiny@base', 'tiny@000002-step-10']
    const { data } = (await g.get(`${g.serving.url}/v1/models`, SERVE_KEY)).body
    expect(data.map(({ id }: { id: string }) => id)).toEqual(names)
    expect((await g.get(`${g.serving.url}/v1/models/tiny@base`, SERVE_KEY)).body.id).toBe('tiny@base')
    const said = []
    for (const model of [...names, 'waggle', undefined]) {
      const { body, headers } = await ask({ model })
      said.push([body.model, body.choices[0].message.content, headers.get('x-waggle-ignored')])
    }
    expect(said).toEqual([
      ['tiny', 'of the policy', null],
      ['tiny@base', 'of the base', null],
      ['tiny@000002-step-10', 'of step 10', null],
      ['tiny', 'of the policy', null],
      ['tiny', 'of the policy', null],
    ])
    const unknown = await ask({ model: 'tiny@other' })
    expect([unknown.status, unknown.body.error.message]).toEqual([
      404,
      expect.stringContaining('"tiny@base"'),
    ])
    expect(g.serving.info().answered).toBe(5)
    const chat = { model: 'tiny@base', messages, stream: false }
    expect((await g.post(`${g.serving.url}/api/chat`, chat, SERVE_KEY)).body).toMatchObject({
      model: 'tiny@base',
      message: { content: 'of the base' },
    })
  })

  it('are listed and told of, in the shapes of OpenAI and Anthropic', async () => {
    await open()
    const { body } = await g.get(`${g.serving.url}/v1/models`, SERVE_KEY)
    expect(body).toMatchObject({ object: 'list', has_more: false, first_id: 'tiny' })
    const one = { id: 'tiny', object: 'model', type: 'model', display_name: 'tiny', max_model_len: 4096 }
    expect(body.data).toMatchObject([one])
    expect((await g.get(`${g.serving.url}/v1/models/tiny`, SERVE_KEY)).body).toMatchObject(one)
    expect((await g.get(`${g.serving.url}/v1/models/other`, SERVE_KEY)).status).toBe(404)
  })
})
