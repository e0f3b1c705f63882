// The node's event log: numbers events, keeps the newest in a ring buffer, and calls listeners. All parts of the node
// report here. It is in memory only; listeners write files.

import type { Event, EventBody } from '../../../protocol/api/index.ts'
import type { EventSource } from '../node/node.ts'

export interface EventLog extends EventSource {
  emit(body: EventBody): Event
}

interface EventLogOptions {
  /** Number of events kept for readers that connect later or fall behind. */
  capacity?: number
}

export function createEventLog(
  { capacity = 4096 }: EventLogOptions,
  { clock }: { clock: () => number },
): EventLog {
  const ring: Event[] = new Array(capacity)
  const listeners = new Set<(event: Event) => void>()
  let last = 0
  return {
    get last() {
      return last
    },
    emit(body) {
      last += 1
      // Spread twice: first for the order of the fields, and last because a body may have its own time.
      const envelope = { v: 1, id: last, time: clock() }
      const event = { ...envelope, ...body, ...envelope } as Event
      ring[last % capacity] = event
      // A copy, so that a listener may unsubscribe itself or another while it runs.
      for (const listener of [...listeners]) listener(event)
      return event
    },
    since(id) {
      const oldest = Math.max(1, last - capacity + 1)
      // A larger ID comes from an earlier run of the daemon, so the reader gets all events.
      const start = Math.max(id > last ? 1 : id + 1, 1)
      const events: Event[] = []
      for (let next = Math.max(start, oldest); next <= last; next++) events.push(ring[next % capacity]!)
      return start < oldest ? { events, gap: { from: start, to: oldest - 1 } } : { events }
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
