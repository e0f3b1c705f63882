// Server-sent events. If the reader goes away, the stream ends but the answer does not: it is still recorded.

import type { ServerResponse } from 'node:http'
import type { ServerEvent } from '../dialects/dialect.ts'
import { errorOf } from './http.ts'

export async function sendEvents(
  response: ServerResponse,
  events: AsyncIterable<ServerEvent>,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  response.flushHeaders()
  const write = async ({ event, data }: ServerEvent): Promise<void> => {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    if (response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`)) return
    await new Promise<void>((resolve) => {
      response.once('drain', resolve)
      gone.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
  try {
    for await (const event of events) {
      if (gone.signal.aborted) return
      await write(event)
    }
  } catch (error) {
    // The status has already been sent, so the error is sent as an event.
    await write({ event: 'error', data: errorOf(error).body })
  }
  response.end()
}
