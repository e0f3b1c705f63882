// The node's use of its machine, measured on request: memory, CPU, event loop delay.

import { availableParallelism, freemem, totalmem } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { MachineInfo } from '../../../protocol/api/index.ts'

const CPU_WINDOW_MS = 1000
const LAG_WINDOW_MS = 10_000
/** Sampling interval in ms; the histogram's values include it. Each 20 ms, sampling took half of what an idle node takes. */
const LAG_EVERY_MS = 100

export function watchMachine(): () => MachineInfo {
  let cpu = { at: performance.now(), usage: process.cpuUsage(), cores: 0 }
  const lag = monitorEventLoopDelay({ resolution: LAG_EVERY_MS })
  lag.enable()
  let lagSince = performance.now()
  let lagBefore = 0

  const cpuCores = (): number => {
    const at = performance.now()
    if (at - cpu.at > CPU_WINDOW_MS) {
      const usage = process.cpuUsage(cpu.usage)
      cpu = { at, usage: process.cpuUsage(), cores: (usage.user + usage.system) / 1000 / (at - cpu.at) }
    }
    return Math.min(cpu.cores, availableParallelism())
  }

  const cpuSeconds = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }

  const loopLagMs = (): number => {
    const worst = Math.max(0, lag.max / 1e6 - LAG_EVERY_MS)
    const told = Math.max(worst, lagBefore)
    if (performance.now() - lagSince > LAG_WINDOW_MS) {
      lagBefore = worst
      lagSince = performance.now()
      lag.reset()
    }
    return told
  }

  return () => {
    return {
      rssBytes: process.memoryUsage.rss(),
      freeMemoryBytes: freemem(),
      totalMemoryBytes: totalmem(),
      cpuCores: cpuCores(),
      cpuSeconds: cpuSeconds(),
      loopLagMs: loopLagMs(),
    }
  }
}
