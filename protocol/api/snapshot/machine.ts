// The machine and the limits on its use, as parts of a snapshot.

export interface MachineInfo {
  rssBytes?: number
  freeMemoryBytes?: number
  totalMemoryBytes?: number
  diskFreeBytes?: number
  stateBytes?: number
  /** CPU used by this process, in cores. */
  cpuCores?: number
  /** Processor seconds that this process has used since it started. */
  cpuSeconds?: number
  /** Maximum recent delay of the main thread's event loop. */
  loopLagMs?: number
}

/** Config names of the limits that can hold back a node or its network traffic. */
export const LIMIT_NAMES = [
  'hours',
  'on_battery',
  'celsius',
  'busy_percent',
  'disk_gb',
  'writes_gb_per_day',
  'up_kb_per_second',
  'down_kb_per_second',
  'network_gb_per_month',
] as const

export type LimitName = (typeof LIMIT_NAMES)[number]

export interface LimitHold {
  limit: LimitName
  /** A few words. */
  reason: string
  /** ms since the epoch. */
  since: number
}

/** How the config limits the node's use of its machine. */
export interface LimitsInfo {
  /** The limits holding the node back, longest first. Empty while it may work. */
  holds: LimitHold[]
  /** Cores that it may use on average; absent without a limit. */
  cpuCores?: number
  /** Network use and its limits; training continues even while they hold. Absent without a network. */
  network?: NetworkUse
}

export interface NetworkUse {
  /** Bytes sent and received in this calendar month, across restarts. */
  monthBytes: number
  holds: LimitHold[]
}
