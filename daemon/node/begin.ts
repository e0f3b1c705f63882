// The first parts of a node: the event log, and the list of opened parts, which are closed in reverse order.

import type { At } from '../../protocol/api/index.ts'
import { createEventLog, type EventLog } from '../control/journal/event-log.ts'
import type { Log } from '../store/log.ts'

export interface Closers {
  add(close: () => Promise<unknown>): void
  /** Closes everything, and reports how many parts are closed. Failures are logged. */
  closeAll(at?: At): Promise<void>
}

export interface Begun {
  events: EventLog
  log: Log
  closers: Closers
}

/** `area` labels the log lines. */
export function beginNode({ area }: { area: string }, { now }: { now(): number }): Begun {
  const events = createEventLog({}, { clock: now })
  const log: Log = (level, message, data) => {
    events.emit({ type: 'log', level, area, message, ...(data ? { data } : {}) })
  }
  const opened: (() => Promise<unknown>)[] = []
  return {
    events,
    log,
    closers: {
      add: (close) => void opened.push(close),
      async closeAll(at) {
        const parts = opened.splice(0).reverse()
        for (const [i, close] of parts.entries()) {
          at?.(i, parts.length)
          await close().catch((error: unknown) =>
            log('error', `closing: ${error instanceof Error ? error.message : error}`),
          )
        }
      },
    },
  }
}
