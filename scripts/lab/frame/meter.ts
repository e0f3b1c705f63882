// Processor seconds of this process, user and system, by what they were spent on.

export interface Meter {
  /** Counts what `work` spends under that name. Parts do not nest. */
  part<Result>(name: string, work: () => Promise<Result>): Promise<Result>
  readonly seconds: Readonly<Record<string, number>>
}

/** `spent`: processor seconds of the process so far. */
export function createMeter(spent: () => number = processorSeconds): Meter {
  const seconds: Record<string, number> = {}
  return {
    seconds,
    async part(name, work) {
      const before = spent()
      try {
        return await work()
      } finally {
        seconds[name] = (seconds[name] ?? 0) + spent() - before
      }
    },
  }
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
