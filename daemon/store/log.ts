// The store's log: it reports fallbacks, retries and dropped records.

import type { LogLevel } from '../../protocol/api/events.ts'

export type Log = (level: LogLevel, message: string, data?: Record<string, unknown>) => void
