// Clients of serving that misbehave, for chaos.ts: they hang up, die in the middle of a stream, read nothing, bring wrong
// keys, send nonsense and prompts that are too long, rate what is not theirs and come all at once.

import { connect } from 'node:net'

interface Served {
  /** http://host:port */
  url: string
  key: string
  /** Of the agents' gateway, where this key must open nothing. */
  gateway: string
  /** Keys that must open nothing here. */
  others(): readonly string[]
  /** The id of an agent's rollout. */
  rollout(): string | undefined
  expect(what: string, status: number, ...wanted: number[]): void
  problem(what: string): void
}

const asking = (content: string, more = {}): string =>
  JSON.stringify({ messages: [{ role: 'user', content }], max_tokens: 32, ...more })
const QUESTION = asking('Work out 3 + 9')
const STREAM = asking('Work out 3 + 9', { stream: true })
/** More than any conversation here may have. */
const LONG = asking('Work out 3 + 9. '.repeat(4000))

export function createServedChaos({ url, key, gateway, others, rollout, expect, problem }: Served) {
  const post = (at: string, body: object, as = key): Promise<Response> =>
    fetch(at, { method: 'POST', headers: { authorization: `Bearer ${as}` }, body: JSON.stringify(body) })
  const ask = (body = QUESTION, { as = key, signal = AbortSignal.timeout(60_000) } = {}): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${as}` }, body, signal },
    })
  const whole = async (what: string, response: Promise<Response>, ...wanted: number[]): Promise<void> => {
    const answer = await response
    await answer.text()
    expect(what, answer.status, ...wanted)
    if (answer.status === 429 && answer.headers.get('retry-after') === null)
      problem('429 without Retry-After')
  }
  /** Asks and rates the answer. Returns its id once the rating can no longer be lost. */
  const rate = async (i: number): Promise<string | undefined> => {
    const answer = await ask()
    const { id } = (await answer.json()) as { id: string }
    expect('served call', answer.status, 200, 429)
    if (answer.status !== 200) return undefined
    await whole('rating', post(`${url}/v1/feedback`, { id, reward: i % 2 === 0 ? 'up' : 'down' }), 200)
    return id
  }
  const hold: { destroy(): void }[] = []
  const behaviours: ((i: number) => Promise<void>)[] = [
    () => whole('served call', ask(), 200, 429),
    async (i) => {
      await ask(QUESTION, { signal: AbortSignal.timeout(1 + (i % 200)) }).catch(() => {})
    },
    async () => {
      for (const as of ['', 'wrong', ...others()])
        await whole('served, wrong key', ask(QUESTION, { as }), 401)
    },
    async () => {
      for (const body of ['{', '[]', '{"messages":1}', '{"messages":[],"temperature":"hot"}'])
        await whole('served, nonsense', ask(body), 400)
    },
    () => whole('served, too long', ask(LONG), 400),
    async () => {
      // It dies after the first pieces of its answer.
      const { body, status } = await ask(STREAM)
      const reader = body!.getReader()
      await reader.read()
      await reader.cancel()
      expect('served, died in a stream', status, 200, 429)
    },
    async () => {
      // With the serving key, an agent's rollout can be neither opened nor called, seen or rewarded.
      await whole('gateway, serving key', post(`${gateway}/v1/rollouts`, {}), 401)
      const other = rollout()
      if (other === undefined) return
      const call = { messages: [{ role: 'user', content: 'Hello' }] }
      await whole('gateway, serving key', post(`${gateway}/rollouts/${other}/v1/chat/completions`, call), 401)
      await whole('gateway, serving key', post(`${gateway}/v1/rollouts/${other}/reward`, { value: 1 }), 401)
    },
    async (i) => {
      const rated = await rate(i)
      if (!rated) return
      const [own] = others()
      await whole('rating, wrong key', post(`${url}/v1/feedback`, { id: rated, reward: 'up' }, own), 401)
      // With the gateway's token, the same answer is another key's.
      await whole(
        "rating of another's",
        post(`${gateway}/v1/feedback`, { id: rated, reward: 'up' }, own),
        403,
      )
      await whole('rating of nothing', post(`${url}/v1/feedback`, { id: 'f'.repeat(24), reward: 'up' }), 404)
      await whole('wrong rating', post(`${url}/v1/feedback`, { id: rated, reward: 7 }), 400)
    },
    async () => {
      // A stream of which nothing is read.
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      const body = STREAM
      socket.pause()
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      hold.push(socket)
      if (hold.length > 32) hold.shift()!.destroy()
    },
  ]
  let i = 0
  return {
    async client(isOver: () => boolean): Promise<void> {
      while (!isOver()) {
        i += 1
        await behaviours[i % behaviours.length]!(i)
      }
    },
    rate,
    /** A hundred calls at once. */
    async flood(): Promise<void> {
      await Promise.all(Array.from({ length: 100 }, () => whole('served, of 100 at once', ask(), 200, 429)))
    },
    close(): void {
      for (const socket of hold.splice(0)) socket.destroy()
    },
  }
}
