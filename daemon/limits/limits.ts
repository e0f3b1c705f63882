// Keeps a node within its limits: reads the machine every few seconds, and tells the loops when to wait. Loops ask
// before each round, step and evaluation; work that has begun is finished.

import type { LimitsInfo, NetworkUse } from '../../protocol/api/index.ts'
import { type Balance, balanceAt } from './budget.ts'
import type { MachineReader } from './machine.ts'
import { decide, type Held, type Limits } from './rules.ts'

export interface NodeLimits {
  /** Whether a limit holds the node back, other than the CPU share. */
  readonly isHeld: boolean
  /** Whether loops must wait, even if only until the CPU time they have used is within the node's share. */
  mustWait(): boolean
  /** Whether the node may write a scheduled checkpoint. */
  mayWrite(): boolean
  info(): LimitsInfo
  close(): Promise<void>
}

interface LimitsOptions {
  /** The limits as they are now. */
  settings(): Limits
  /** Number of CPU cores of the machine. */
  cores: number
}

export interface LimitsParts {
  machine: MachineReader
  /** CPU time that this process has used so far, in ms of one core. */
  cpuMs(): number
  /** Use of the network, if there is one. */
  network?: (() => NetworkUse | undefined) | undefined
  /** Size of the node's files; undefined if unknown. */
  stateBytes(): number | undefined
  /** ms since the epoch. */
  now(): number
  /** ms. */
  monotonic(): number
  after(ms: number, run: () => void): () => void
  /** Called when the loops no longer have to wait. */
  onFree(): void
  /** Called when something starts or stops holding the node back. */
  onChange(info: LimitsInfo): void
}

const READ_EVERY_MS = 5000
/** Maximum CPU time saved up, in ms at the node's share: after a rest, this much work is done without a pause. */
const CPU_LEFT_MS = 1000
/** Maximum number of bytes saved up, in ms at their rate: an hour's worth. */
const WRITES_LEFT_MS = 3_600_000
const DAY_MS = 86_400_000
/** Shortest wait for CPU time. */
const SHORTEST_MS = 20

/** Resolves after the first reading, so that a node that must wait does not start working. */
export async function createLimits(
  { settings, cores }: LimitsOptions,
  parts: LimitsParts,
): Promise<NodeLimits> {
  const { machine, now, monotonic, after } = parts
  let held: Held[] = []
  /** Undefined while there is no limit: reading the CPU time at each turn of the loops takes time itself. */
  let cpu: Balance | undefined = { at: monotonic(), used: parts.cpuMs(), owed: 0 }
  let writes: Balance | undefined
  let cancelRead: () => void = () => {}
  let cancelWait: (() => void) | undefined
  let isClosed = false

  /** ms until the CPU time used is within the node's share. */
  const cpuWaitMs = (): number => {
    const { cpu_percent } = settings()
    if (cpu_percent >= 100) {
      cpu = undefined
      return 0
    }
    const perMs = (cores * cpu_percent) / 100
    const reading = { at: monotonic(), used: parts.cpuMs() }
    cpu = balanceAt(cpu ?? { ...reading, owed: 0 }, reading, { perMs, mostLeft: CPU_LEFT_MS * perMs })
    return Math.max(0, cpu.owed / perMs)
  }

  const countWrites = async (): Promise<void> => {
    const used = await machine.writtenBytes()
    if (used === undefined) return
    const at = monotonic()
    const perMs = (settings().writes_gb_per_day * 1e9) / DAY_MS
    writes = balanceAt(
      writes ?? { at, used, owed: 0 },
      { at, used },
      { perMs, mostLeft: WRITES_LEFT_MS * perMs },
    )
  }

  const info = (): LimitsInfo => {
    const network = parts.network?.()
    const { cpu_percent } = settings()
    return {
      holds: held.map(({ limit, reason, since }) => ({ limit, reason, since })),
      ...(cpu_percent < 100 ? { cpuCores: (cores * cpu_percent) / 100 } : {}),
      ...(network && { network }),
    }
  }

  const read = async (): Promise<void> => {
    const time = new Date(now())
    await countWrites()
    const readings = {
      minuteOfDay: time.getHours() * 60 + time.getMinutes(),
      onBattery: await machine.onBattery(),
      celsius: await machine.celsius(),
      othersPercent: machine.othersPercent(),
      stateBytes: parts.stateBytes(),
      writesOwed: writes?.owed,
    }
    const before = held
    held = decide(settings(), readings, before, now())
    if (before.map(({ limit }) => limit).join() === held.map(({ limit }) => limit).join()) return
    parts.onChange(info())
    if (held.length === 0) parts.onFree()
  }

  const keepReading = (): void => {
    if (isClosed) return
    cancelRead = after(READ_EVERY_MS, () => void read().finally(keepReading))
  }

  await read()
  keepReading()

  return {
    get isHeld() {
      return held.length > 0
    },
    mustWait() {
      if (held.length > 0) return true
      const ms = cpuWaitMs()
      if (ms === 0) return false
      cancelWait ??= after(Math.max(SHORTEST_MS, ms), () => {
        cancelWait = undefined
        parts.onFree()
      })
      return true
    },
    mayWrite: () => settings().writes_gb_per_day === 0 || (writes?.owed ?? 0) <= 0,
    info,
    async close() {
      isClosed = true
      cancelRead()
      cancelWait?.()
    },
  }
}
