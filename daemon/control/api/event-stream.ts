// Server-sent events for one reader. The reader has a position in the event log and gets more events only after reading
// the previous ones, so nothing is buffered for it. A reader that falls behind the log's ring buffer gets a `gap`
// event; one that stops reading is disconnected.

import type { ServerResponse } from 'node:http'
import type { Event, Snapshot } from '../../../protocol/api/index.ts'
import type { EventSource } from '../node/node.ts'

interface EventStreamOptions {
  since: number
  /** Milliseconds between snapshots; 0 for none. */
  snapshotEveryMs: number
  /** A reader that reads nothing for this long is disconnected. */
  stallMs: number
}

const KEEP_ALIVE_MS = 15_000

interface EventStreamParts {
  events: EventSource
  snapshot: () => Snapshot
  clock: () => number
}

/** Resolves when the reader is gone or `signal` aborts. */
export async function streamEvents(
  response: ServerResponse,
  { since, snapshotEveryMs, stallMs }: EventStreamOptions,
  { events, snapshot, clock, signal }: EventStreamParts & { signal: AbortSignal },
): Promise<void> {
  let wake = () => {}
  const unsubscribe = events.subscribe(() => wake())
  const gone = new AbortController()
  const leave = () => {
    gone.abort()
    wake()
  }
  response.once('close', leave)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()

  const write = async (text: string): Promise<void> => {
    if (response.write(text)) return
    await drained(response, stallMs, gone.signal)
  }

  let last = since
  let nextSnapshot = 0
  let nextKeepAlive = clock() + KEEP_ALIVE_MS
  try {
    while (!gone.signal.aborted) {
      const { events: fresh, gap } = events.since(last)
      if (gap) await write(frame({ v: 1, id: 0, time: clock(), type: 'gap', ...gap }))
      for (const event of fresh.slice(0, 64)) {
        if (gone.signal.aborted) return
        await write(frame(event))
        last = event.id
      }
      // The ring may have advanced during the writes.
      if (fresh.length > 64) continue
      if (snapshotEveryMs > 0 && clock() >= nextSnapshot) {
        nextSnapshot = clock() + snapshotEveryMs
        await write(frame({ v: 1, id: 0, time: clock(), type: 'snapshot', snapshot: snapshot() }))
      }
      if (clock() >= nextKeepAlive) {
        nextKeepAlive = clock() + KEEP_ALIVE_MS
        await write(': alive\n\n')
      }
      if (events.last !== last || gone.signal.aborted) continue
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, snapshotEveryMs > 0 ? Math.min(snapshotEveryMs, 1000) : 1000)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      wake = () => {}
    }
  } finally {
    unsubscribe()
    response.off('close', leave)
    signal.removeEventListener('abort', leave)
    if (gone.signal.aborted) response.destroy()
    else response.end()
  }
}

function frame(event: Event): string {
  // JSON never contains a raw newline, so one data line is enough.
  return `${event.id > 0 ? `id: ${event.id}\n` : ''}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function drained(response: ServerResponse, stallMs: number, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      response.off('drain', finish)
      gone.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(() => {
      response.destroy()
      finish()
    }, stallMs)
    response.once('drain', finish)
    gone.addEventListener('abort', finish, { once: true })
    if (gone.aborted) finish()
  })
}
