// How much memory a node may use: the configured amount, or a share of the free memory within the container's limit.

/** The rest is left for the system and as a margin for errors of the estimate. */
const SHARE = 0.85

export interface MemoryHere {
  /** Memory available without swapping, as the operating system reports it. */
  available: number
  /** The container's limit; 0 or undefined without one. */
  limit: number | undefined
  /** Memory that this process already uses. */
  used: number
}

/** The budget in bytes. If `configuredGb` is 0, it is derived from the machine. */
export function memoryBudget(configuredGb: number, { available, limit, used }: MemoryHere): number {
  if (configuredGb > 0) return configuredGb * 1e9
  const free = available + used
  // An unlimited cgroup reports a number beyond any machine's memory.
  return SHARE * (limit !== undefined && limit > 0 ? Math.min(free, limit) : free)
}

export function memoryHere(): MemoryHere {
  return {
    available: process.availableMemory(),
    limit: process.constrainedMemory(),
    used: process.memoryUsage().rss,
  }
}
