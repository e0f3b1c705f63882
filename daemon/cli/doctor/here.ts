// What this machine has, for presets and checks. In a container, the container's limits count.

import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, freemem, totalmem } from 'node:os'
import type { Machine } from '../../config/presets.ts'

export interface Here extends Machine {
  freeMemoryBytes: number
  /** True if a container allows less memory than the machine has. */
  limited: boolean
  graphics: string[]
}

export async function machineHere(): Promise<Here> {
  const limit = process.constrainedMemory()
  const total = totalmem()
  // An unlimited cgroup reports 0 or a number larger than any memory.
  const limited = limit > 0 && limit < total
  return {
    cores: availableParallelism(),
    memoryBytes: limited ? limit : total,
    freeMemoryBytes: limited ? Math.min(process.availableMemory(), freemem()) : freemem(),
    limited,
    graphics: graphicsHere(),
  }
}

function graphicsHere(): string[] {
  const found: string[] = []
  try {
    const version = readFileSync('/proc/driver/nvidia/version', 'utf8').split('\n')[0]!
    found.push(`NVIDIA, driver ${/\s(\d+\.[\d.]+)\s/.exec(version)?.[1] ?? 'unknown'}`)
  } catch {
    // No such driver.
  }
  try {
    const nodes = readdirSync('/dev/dri').filter((name) => name.startsWith('render'))
    if (nodes.length > 0 && found.length === 0)
      found.push(`${nodes.length} render device${nodes.length > 1 ? 's' : ''}`)
  } catch {
    // Not Linux, or nothing there.
  }
  return found
}
