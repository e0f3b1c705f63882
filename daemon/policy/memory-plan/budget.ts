// How much memory a node may take: as the config says, else a share of what is free, within the limit of the container
// that it runs in.

/** The rest is for the system, and for what the estimate gets wrong. */
const SHARE = 0.85

export interface MemoryHere {
  /** Free now, as the operating system counts it: what can be given without swapping. */
  available: number
  /** The container's limit, 0 or undefined without one. */
  limit: number | undefined
  /** What this process has already. */
  used: number
}

/** Bytes. `configuredGb` 0 means: find out. */
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
