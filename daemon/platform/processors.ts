// What the system tells about its processors.

import { cpus } from 'node:os'

/**
 * The time that a processor has counted since the machine started, busy or idle, in ms: the mean over all. It stands
 * still while the machine sleeps. Undefined if the system does not tell, as in some sandboxes.
 */
export function processorTime(): number | undefined {
  const all = cpus()
  const sum = all.flatMap(({ times }) => Object.values(times)).reduce((a, b) => a + b, 0)
  return sum > 0 ? sum / all.length : undefined
}
