// How the store says what it did on its own account: fell back, retried, dropped a damaged record.

import type { LogLevel } from '../../protocol/api/events.ts'

export type Log = (level: LogLevel, message: string, data?: Record<string, unknown>) => void
