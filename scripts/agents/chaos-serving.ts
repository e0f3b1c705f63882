// Clients of serving that misbehave, for chaos.ts: they hang up, read nothing, bring wrong keys, send nonsense and come
// all at once.

import { connect } from 'node:net'

interface Served {
  /** http://host:port */
  url: string
  key: string
  /** Keys that must open nothing here. */
  others(): readonly string[]
  expect(what: string, status: number, ...wanted: number[]): void
  problem(what: string): void
}

const QUESTION = JSON.stringify({ messages: [{ role: 'user', content: 'Work out 3 + 9' }], max_tokens: 32 })

export function createServedChaos({ url, key, others, expect, problem }: Served) {
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
    async () => {
      // A stream of which nothing is read.
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      const body = QUESTION.replace('{', '{"stream":true,')
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
    /** A hundred calls at once. */
    async flood(): Promise<void> {
      await Promise.all(Array.from({ length: 100 }, () => whole('served, of 100 at once', ask(), 200, 429)))
    },
    close(): void {
      for (const socket of hold.splice(0)) socket.destroy()
    },
  }
}
