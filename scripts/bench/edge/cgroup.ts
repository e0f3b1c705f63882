// A control group (cgroup v1, as root) that limits a node's memory and CPU, and the kernel's counters of it.

import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
const PERIOD_US = 100_000

interface CgroupOptions {
  name: string
  memoryBytes: number
  cores: number
}

interface Cgroup {
  /** Files that a process writes its ID to, to be in the group. */
  procs: string[]
  memory(): {
    /** Of processes, without files. */
    anonymousBytes: number
    /** Of files that are in memory. */
    cachedBytes: number
    /** Highest use so far, files included. */
    peakBytes: number
    /** How often the limit was reached: the kernel then first gives up cached files. */
    atLimit: number
    oomKills: number
  }
  cpu(): {
    /** Seconds of CPU time used, of one core. */
    seconds: number
    /** Seconds during which the group had used up its CPU time. */
    throttledSeconds: number
  }
  /** Once no process is left in it. */
  remove(): void
}

export function createCgroup({ name, memoryBytes, cores }: CgroupOptions): Cgroup {
  const at = (controller: string, file = ''): string => join(ROOT, controller, name, file)
  const controllers = ['memory', 'cpu', 'cpuacct']
  for (const controller of controllers) mkdirSync(at(controller))
  const set = (controller: string, file: string, value: number): void =>
    writeFileSync(at(controller, file), String(value))
  set('memory', 'memory.limit_in_bytes', memoryBytes)
  set('cpu', 'cpu.cfs_period_us', PERIOD_US)
  set('cpu', 'cpu.cfs_quota_us', Math.round(PERIOD_US * cores))
  const read = (controller: string, file: string): string => readFileSync(at(controller, file), 'utf8')
  const field = (text: string, key: string): number =>
    Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  return {
    procs: controllers.map((controller) => at(controller, 'cgroup.procs')),
    memory() {
      const stat = read('memory', 'memory.stat')
      return {
        anonymousBytes: field(stat, 'total_rss'),
        cachedBytes: field(stat, 'total_cache'),
        peakBytes: Number(read('memory', 'memory.max_usage_in_bytes')),
        atLimit: Number(read('memory', 'memory.failcnt')),
        oomKills: field(read('memory', 'memory.oom_control'), 'oom_kill'),
      }
    },
    cpu() {
      return {
        seconds: Number(read('cpuacct', 'cpuacct.usage')) / 1e9,
        throttledSeconds: field(read('cpu', 'cpu.stat'), 'throttled_time') / 1e9,
      }
    },
    remove() {
      for (const controller of controllers) rmdirSync(at(controller))
    },
  }
}
