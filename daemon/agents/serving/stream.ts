// Answers as a stream: server-sent events, or lines of JSON. If the reader goes away, the stream ends. An answer of a
// rollout goes on for a while, in case the reader comes back. While there is nothing to tell, comments and empty pieces
// keep clients from giving up.

import type { ServerResponse } from 'node:http'
import type { ServerEvent } from '../dialects/dialect.ts'
import { errorOf } from './http.ts'

/** After so long without an event. Clients give up after a minute or two. */
const SILENCE_MS = 10_000
/** A reader that takes nothing for so long is sent away. */
const STALL_MS = 60_000

interface StreamParts {
  /** The request's path. */
  path: string
  /** Lines of JSON instead of events. */
  isLines: boolean
  /** An event that tells nothing, for clients that count events and not comments. */
  idle?: ServerEvent | undefined
  /** Called when all events were sent to a reader that is still there. */
  onSent(): void
  after(ms: number, run: () => void): () => void
}

export async function sendEvents(
  response: ServerResponse,
  events: AsyncIterable<ServerEvent>,
  { path, isLines, idle, after, onSent }: StreamParts,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  response.writeHead(200, {
    'content-type': isLines ? 'application/x-ndjson' : 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Proxies such as nginx would hold events back.
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  const textOf = isLines ? lineOf : eventOf
  const silence = `${isLines ? '' : ': still writing\n\n'}${idle ? textOf(idle) : ''}`
  let cancel = (): void => {}
  const watch = (): void => {
    cancel()
    cancel = after(SILENCE_MS, () => {
      // A reader that does not read must not be sent more.
      if (!response.writableNeedDrain) response.write(silence)
      watch()
    })
  }
  const write = async (event: ServerEvent): Promise<void> => {
    watch()
    if (response.write(textOf(event))) return
    const cancelStall = after(STALL_MS, () => response.destroy())
    await new Promise<void>((resolve) => {
      response.once('drain', resolve)
      gone.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    cancelStall()
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
    if (!gone.signal.aborted) await write({ event: 'error', data: errorOf(error, path).body })
  } finally {
    cancel()
  }
  response.end()
}

const dataOf = ({ data }: ServerEvent): string => (typeof data === 'string' ? data : JSON.stringify(data))

const lineOf = (event: ServerEvent): string => `${dataOf(event)}\n`

const eventOf = (event: ServerEvent): string =>
  `${event.event === undefined ? '' : `event: ${event.event}\n`}data: ${dataOf(event)}\n\n`
