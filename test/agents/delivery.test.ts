// Answers that a client does not wait for, and answers that it leaves out: they cost little, are not trained on, and are
// counted.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { agentsText } from '../../protocol/api/index.ts'
import { type Opened, type TestGateway, testGateway } from './gateway.ts'

const user = (content: string) => ({ role: 'user', content })
let g: TestGateway
afterEach(() => g.close())

/** Asks, and hangs up: while nothing is sent, or after the first piece of a stream. */
async function hangUp(
  { base_url: url, api_key: key }: Opened,
  body: object,
  isStream: boolean,
): Promise<void> {
  const dead = new AbortController()
  const before = g.engine.requests.length
  const asking = fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ ...body, stream: isStream }),
    signal: dead.signal,
  })
  if (isStream) await (await asking).body!.getReader().read()
  else await vi.waitFor(() => expect(g.engine.requests.length).toBeGreaterThan(before))
  dead.abort()
  await asking.catch(() => {})
}

const learnt = (): string[] =>
  g.groups.flatMap(({ rollouts }) =>
    rollouts.map(({ tokens, lossMask }) =>
      g.tokenizer.decodeCompletion(tokens.filter((_, i) => lossMask?.[i] !== 0)),
    ),
  )

const ESSAY = 'word '.repeat(12_000)
const essay = (prompt: string): string => (prompt.includes('essay') ? ESSAY : 'ok then')
const SOON = { timeout: 10_000, interval: 5 }
const LONG = { maxNewTokens: 70_000, context: 80_000, rolloutSeconds: 86_400 }

describe.each([false, true])('an answer that its client hung up on (stream: %s)', (isStream) => {
  it('is cut after a while, and neither kept nor trained on', async () => {
    g = await testGateway({ write: essay, ...LONG })
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      await hangUp(rollout, { messages: [user('an essay')] }, isStream)
      await vi.waitFor(async () => {
        await g.pass(11_000)
        const { body } = await g.get(`/v1/rollouts/${rollout.id}`)
        expect(body).toMatchObject({ undelivered: 1, calls: 0, rows: 0 })
      }, SOON)
      await g.chat(rollout, [user('in short?')])
      await g.reward(rollout, value)
    }
    expect(learnt()).toEqual(['ok then', 'ok then'])
    expect(g.engine.drawn).toBeLessThan(2 * ESSAY.length)
    expect(g.info().undelivered!.answers).toBe(2)
    expect(agentsText(g.info())).toMatch(
      /2 rows {2}reward .* {2}not delivered: 2 answers of [\d,.]+( k)? tokens/,
    )
  })
})

describe('an answer that its client hung up on', () => {
  it('is not trained on either if it was whole before that', async () => {
    g = await testGateway({ write: (prompt) => (prompt.includes('essay') ? 'a short essay' : 'ok then') })
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      const letGo = g.hold()
      await hangUp(rollout, { messages: [user('an essay')] }, true)
      letGo()
      await vi.waitFor(async () => {
        const { calls } = (await g.get(`/v1/rollouts/${rollout.id}/calls`)).body
        expect(calls).toMatchObject([{ text: 'a short essay', delivered: false, row: null }])
      })
      await g.chat(rollout, [user('in short?')])
      await g.reward(rollout, value)
    }
    expect(learnt()).toEqual(['ok then', 'ok then'])
    expect(g.info().undelivered).toEqual({ answers: 2, tokens: 28 })
  })

  it('is trained on if it asks again in time', async () => {
    g = await testGateway({ write: (_, { seed }) => `${'word '.repeat(30)}${seed}` })
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      const letGo = g.hold()
      const body = { messages: [user('an essay')] }
      await hangUp(rollout, body, true)
      await g.pass(9000)
      const arrival = g.arrival()
      const again = g.post(`${rollout.base_url}/chat/completions`, { ...body, stream: true }, rollout.api_key)
      await arrival
      await g.pass(9000)
      letGo()
      expect((await again).body).toContain('[DONE]')
      await g.reward(rollout, value)
    }
    expect(learnt()).toHaveLength(2)
    expect(g.info().undelivered).toEqual({ answers: 0, tokens: 0 })
  })
})

describe('an answer under way', () => {
  it('is cut when its rollout gets the reward', async () => {
    g = await testGateway({ write: essay, ...LONG })
    const rollout = await g.open()
    await g.chat(rollout, [user('in short?')])
    const running = g.chat(rollout, [user('an essay')])
    await vi.waitFor(() => expect(g.engine.requests).toHaveLength(2))
    await g.reward(rollout, 1)
    const { status, body } = await running
    expect([status, body.error.code]).toEqual([410, 'rollout_ended'])
    expect(g.engine.drawn).toBeLessThan(ESSAY.length)
  })
})

describe('a rollout', () => {
  it('of which no answer was delivered is dropped with that reason', async () => {
    g = await testGateway({ write: essay, ...LONG })
    const rollout = await g.open({ group: 'one' })
    await hangUp(rollout, { messages: [user('an essay')] }, true)
    await vi.waitFor(async () => {
      await g.pass(11_000)
      expect(g.info().undelivered!.answers).toBe(1)
    }, SOON)
    await g.reward(rollout, 1)
    expect(g.info().dropped).toEqual({ 'no answer counts': 1 })
  })

  it('says which of its answers count, and sees which row each is in', async () => {
    g = await testGateway({ write: (prompt) => (prompt.includes('Summarise') ? 'a summary' : 'work done') })
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      const ask = async (...messages: object[]) => (await g.chat(rollout, messages)).body
      const first = await ask(user('work'))
      const summary = await ask(user('Summarise: work, work done'))
      const last = await ask(user('So far: a summary'))
      const { calls } = (await g.get(`/v1/rollouts/${rollout.id}/calls`)).body
      expect(calls.map(({ row }: { row: number }) => row)).toEqual([0, 1, 2])
      const answer = await g.reward(rollout, { value, calls: [first.id, last.id] })
      expect(answer.body).toMatchObject({
        rows: 2,
        reward: { calls: [first, last].map(({ id }) => id.slice(9)) },
      })
      expect((await g.reward(rollout, { value, calls: [first.id, last.id] })).status).toBe(200)
      expect((await g.reward(rollout, { value, calls: [first.id, summary.id] })).status).toBe(409)
    }
    expect(learnt()).toEqual(Array.from({ length: 4 }, () => 'work done'))
    expect(g.info()).toMatchObject({ rows: 4, split: 2 })
    expect(agentsText(g.info())).toContain('4 rows (2 rollouts split)')
  })

  it('can leave out an answer in the middle of a conversation: it is read and not learnt', async () => {
    g = await testGateway({ write: (prompt) => `answer ${prompt.split('user').length - 1}` })
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      const messages: object[] = []
      const ids: string[] = []
      for (const next of ['one', 'two', 'three']) {
        messages.push(user(next))
        const { id, choices } = (await g.chat(rollout, messages)).body
        messages.push(choices[0].message)
        ids.push(id)
      }
      await g.reward(rollout, { value, calls: [ids[0], ids[2]] })
    }
    expect(g.info()).toMatchObject({ rows: 2, split: 0 })
    expect(learnt()).toEqual(['answer 1answer 3', 'answer 1answer 3'])
  })

  it.each([[['chatcmpl-000000000000000000000000']], [['x']], ['all'], [[7]]])(
    'that names %j as its answers is told so',
    async (calls) => {
      g = await testGateway({ write: () => 'x' })
      const rollout = await g.open()
      await g.chat(rollout, [user('go')])
      expect((await g.reward(rollout, { value: 1, calls })).status).toBe(400)
      expect((await g.reward(rollout, 1)).status).toBe(200)
    },
  )
})
