// The node's use of its machine, measured on request: memory, CPU, event loop delay, size on disk.

import { readdir, stat } from 'node:fs/promises'
import { availableParallelism, freemem, totalmem } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { MachineInfo } from '../../../protocol/api/index.ts'

const CPU_WINDOW_MS = 1000
const LAG_WINDOW_MS = 10_000
/** Interval of the histogram; its values include this pause. */
const LAG_EVERY_MS = 20
const SIZE_EVERY_MS = 60_000

/** `state` is the folder to measure. Its size is measured in the background, so the first result has none. */
export function watchMachine({ state }: { state: string }): () => MachineInfo {
  let cpu = { at: performance.now(), usage: process.cpuUsage(), cores: 0 }
  const lag = monitorEventLoopDelay({ resolution: LAG_EVERY_MS })
  lag.enable()
  let lagSince = performance.now()
  let lagBefore = 0
  let size: { at: number; bytes: number | undefined } | undefined

  const cpuCores = (): number => {
    const at = performance.now()
    if (at - cpu.at > CPU_WINDOW_MS) {
      const usage = process.cpuUsage(cpu.usage)
      cpu = { at, usage: process.cpuUsage(), cores: (usage.user + usage.system) / 1000 / (at - cpu.at) }
    }
    return Math.min(cpu.cores, availableParallelism())
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

  const stateBytes = (): number | undefined => {
    const at = performance.now()
    if (size === undefined || at - size.at > SIZE_EVERY_MS) {
      const measured = { at, bytes: size?.bytes }
      size = measured
      sizeOf(state).then((bytes) => {
        measured.bytes = bytes
      })
    }
    return size.bytes
  }

  return () => {
    const bytes = stateBytes()
    return {
      rssBytes: process.memoryUsage.rss(),
      freeMemoryBytes: freemem(),
      totalMemoryBytes: totalmem(),
      cpuCores: cpuCores(),
      loopLagMs: loopLagMs(),
      ...(bytes === undefined ? {} : { stateBytes: bytes }),
    }
  }
}

/** Total size of the files in a folder, in bytes. Missing files and folders count as 0. */
async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  let total = 0
  for (const name of names) {
    const facts = await stat(join(folder, name)).catch(() => undefined)
    if (facts?.isFile()) total += facts.size
  }
  return total
}
