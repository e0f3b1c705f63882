// Server-sent events. If the reader goes away, the stream ends. The answer goes on for a while, in case it comes back.
// While there is nothing to tell, comments and empty pieces keep clients from giving up.

import type { ServerResponse } from 'node:http'
import type { ServerEvent } from '../dialects/dialect.ts'
import { errorOf } from './http.ts'

/** After so long without an event. Clients give up after a minute or two. */
const SILENCE_MS = 10_000

interface StreamParts {
  /** An event that tells nothing, for clients that count events and not comments. */
  idle?: ServerEvent | undefined
  /** Called when all events were sent to a reader that is still there. */
  onSent(): void
  after(ms: number, run: () => void): () => void
}

export async function sendEvents(
  response: ServerResponse,
  events: AsyncIterable<ServerEvent>,
  { idle, after, onSent }: StreamParts,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  response.flushHeaders()
  let cancel = (): void => {}
  const watch = (): void => {
    cancel()
    cancel = after(SILENCE_MS, () => {
      // A reader that does not read must not be sent more.
      if (!response.writableNeedDrain) response.write(`: still writing\n\n${idle ? textOf(idle) : ''}`)
      watch()
    })
  }
  const write = async (event: ServerEvent): Promise<void> => {
    watch()
    if (response.write(textOf(event))) return
    await new Promise<void>((resolve) => {
      response.once('drain', resolve)
      gone.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
  watch()
  try {
    for await (const event of events) {
      if (gone.signal.aborted) return
      await write(event)
    }
    if (!gone.signal.aborted) onSent()
  } catch (error) {
    // The status has already been sent, so the error is sent as an event.
    if (!gone.signal.aborted) await write({ event: 'error', data: errorOf(error).body })
  } finally {
    cancel()
  }
  response.end()
}

function textOf({ event, data }: ServerEvent): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}
