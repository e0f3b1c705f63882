// Gives way to other programs: the operating system gives this process only the CPU time that they leave.

import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { here, type Traits } from '../platform/index.ts'

/**
 * Lowers the priority of this process, and never raises it. Call it before the engines start: on systems where each
 * thread has its own priority, a new thread inherits that of the thread that creates it. Throws if the system does not
 * allow it.
 */
export function takeBackgroundPriority({
  hasThreadPriorities,
}: Pick<Traits, 'hasThreadPriorities'> = here): void {
  const background = constants.priority.PRIORITY_BELOW_NORMAL
  if (getPriority() >= background) return
  const threads = hasThreadPriorities ? readdirSync('/proc/self/task').map(Number) : [process.pid]
  for (const thread of threads) setPriority(thread, background)
}
