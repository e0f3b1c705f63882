// Gives way to other programs: the operating system gives this process the CPU time that they leave.

import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

/**
 * Lowers the priority of this process, and never raises it. Linux keeps one for each thread, and new threads have that of
 * the thread that makes them: call it before the engines start. Throws if the system does not allow it.
 */
export function takeBackgroundPriority({ platform }: { platform: NodeJS.Platform }): void {
  const background = constants.priority.PRIORITY_BELOW_NORMAL
  if (getPriority() >= background) return
  const threads = platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid]
  for (const thread of threads) setPriority(thread, background)
}
