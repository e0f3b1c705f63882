// What all parts of a node begin with.

import type { Config } from '../../config/schema.ts'
import type { RunOptions } from '../../control/node/node.ts'
import type { NodeCore } from '../../core/core.ts'
import type { PluginTrouble } from '../../host/host.ts'
import type { Waker } from '../../rollout/waker.ts'
import type { Swarm } from '../../swarm/index.ts'
import type { Started } from '../start/start.ts'

/** The clock, randomness, and facts about the machine and the process. */
export interface Machine {
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  sleep(ms: number, signal: AbortSignal): Promise<void>
  random(): number
  randomBytes(size: number): Buffer
  fetch: typeof globalThis.fetch
  env: Record<string, string | undefined>
  homedir: string
  hostname: string
  pid: number
}

/** What opens later than those who use it. */
export interface Late {
  core: NodeCore | undefined
  swarm: Swarm | undefined
  /** Until the journal exists, problems of plugins and engines go to the log. */
  tellTrouble(trouble: PluginTrouble): void
  notice(message: string): void
  tellState(): void
}

export interface NodeContext {
  options: RunOptions
  started: Started
  machine: Machine
  settings(): Config
  /** This node's peer ID. */
  self: string
  seed: number
  /** Woken when the loops may have something to do. */
  changed: Waker
  late: Late
}
