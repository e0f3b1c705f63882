// Opens the node's limits on this machine: lowers its priority, and reports limits that this machine cannot enforce.

import { availableParallelism, cpus } from 'node:os'
import type { LimitsInfo, NetworkUse } from '../../protocol/api/index.ts'
import { isOfPreset } from '../config/presets.ts'
import type { Config } from '../config/schema.ts'
import {
  createLimits,
  createMachineReader,
  type NodeLimits,
  takeBackgroundPriority,
  unkept,
} from '../limits/index.ts'
import type { Waker } from '../rollout/waker.ts'
import type { Log } from '../store/log.ts'
import type { Closers } from './begin.ts'
import type { DiskSpace } from './home/disk-space.ts'

export interface LimitsParts {
  space: DiskSpace
  log: Log
  closers: Closers
  /** Woken when the loops no longer need to wait. */
  changed: Waker
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  /** Called when a limit begins or stops holding the node back. */
  onChange(info: LimitsInfo): void
  /** The network's use of its limits; undefined until the network is open. */
  network(): NetworkUse | undefined
}

/** Number of CPU cores that the engine may use at a time. */
export function coresFor({ limits: { cpu_percent } }: Pick<Config, 'limits'>): number {
  return Math.ceil((availableParallelism() * cpu_percent) / 100)
}

export async function openLimits(
  settings: () => Pick<Config, 'limits' | 'preset'>,
  { space, log, closers, changed, ...parts }: LimitsParts,
): Promise<NodeLimits> {
  const { limits, preset } = settings()
  if (limits.priority === 'background') {
    try {
      takeBackgroundPriority()
    } catch (error) {
      log('warn', `limits.priority: the system keeps the normal priority: ${error}`)
    }
  }
  const machine = createMachineReader({ root: '/' }, { cpus, cpuUsage: () => process.cpuUsage() })
  for (const { limit, why } of await unkept(limits, machine))
    if (!isOfPreset(preset, `limits.${limit}`, limits[limit]))
      log('warn', `limits.${limit} has no effect: ${why}`)
  const opened = await createLimits(
    { settings: () => settings().limits, cores: availableParallelism() },
    {
      ...parts,
      machine,
      cpuMs() {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1000
      },
      stateBytes: space.used,
      onFree: () => changed.wake(),
    },
  )
  closers.add(opened.close)
  return opened
}
