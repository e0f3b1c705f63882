// The swarm of a node, joined to its tasks, pool and journal.

import type { Task } from '../../protocol/plugin/index.ts'
import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { Journal } from '../control/journal.ts'
import type { Host } from '../host/host.ts'
import { codecOf } from '../policy/codec.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Model } from '../policy/model.ts'
import type { TaskBook } from '../rollout/tasks.ts'
import type { Waker } from '../rollout/waker.ts'
import type { Log } from '../store/log.ts'
import type { Pool } from '../store/pool.ts'
import { type Clock, type Identity, openSwarm, type Swarm } from '../swarm/index.ts'
import { swarmOptions } from '../swarm-config.ts'
import type { Closers } from './begin.ts'

export interface NetworkOptions {
  config: Config
  paths: Paths
  invite: string | undefined
  /** All that are known here. */
  known: readonly Task[]
}

export interface NetworkParts {
  identity: Identity
  tasks: TaskBook
  model: Model
  policy: LivePolicy
  host: Host
  pool: Pool
  journal: Journal
  /** Woken when a group has come in. */
  changed: Waker
  log: Log
  clock: Clock
  random(): number
  closers: Closers
}

/** Undefined where the config has none. */
export async function openNetwork(
  { config, paths, invite, known }: NetworkOptions,
  { identity, tasks, model, policy, host, pool, journal, changed, log, clock, random, closers }: NetworkParts,
): Promise<Swarm | undefined> {
  if (!config.swarm.enabled) return undefined
  const { swarm, close } = await openSwarm(
    {
      tasks: known.map(({ name, version }) => ({ name, version })),
      ...swarmOptions(config, paths),
      invite,
    },
    {
      identity,
      clock,
      log,
      tasks,
      codec: codecOf(model.tokenizer, model.spec.vocabulary, model.spec.contextLength),
      version: () => policy.reference().version,
      onEvent(event) {
        if (event.type !== 'group') return journal.swarm(event)
        if (pool.add(event.group, 'foreign')) changed.wake()
        journal.group(event.group, 'foreign')
      },
      states: host.shared,
      random,
    },
  )
  closers.add(close)
  return swarm
}
