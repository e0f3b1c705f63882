// The node's event log: numbers events, keeps the newest in a ring, and tells listeners. In memory only; what goes to
// disk is written by listeners. The one way in which parts of the node tell the outside what happened.

import type { Event, EventBody } from '../../protocol/api/index.ts'
import type { EventSource } from './node.ts'

export interface EventLog extends EventSource {
  emit(body: EventBody): Event
}

export interface EventLogOptions {
  /** Events kept for readers that come later or fall behind. */
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
      // Twice: first for the order that people read it in, last because a body has a time of its own at times.
      const envelope = { v: 1, id: last, time: clock() }
      const event = { ...envelope, ...body, ...envelope } as Event
      ring[last % capacity] = event
      // A copy, so that a listener may unsubscribe itself or another while it runs.
      for (const listener of [...listeners]) listener(event)
      return event
    },
    since(id) {
      const oldest = Math.max(1, last - capacity + 1)
      // A number from the future belongs to an earlier run of the daemon; all that there is, is new to this reader.
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
