// Opens the node's swarm and connects it to the tasks, the core and the journal.

import type { Group } from '../../protocol/train/index.ts'
import type { Accusation } from '../../protocol/wire/index.ts'
import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { Journal } from '../control/journal/journal.ts'
import type { NodeCore } from '../core/core.ts'
import type { PluginHost } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { StoredModel } from '../policy/model.ts'
import { codecOf } from '../policy/tokens/codec.ts'
import type { TaskBook } from '../rollout/tasks.ts'
import type { Waker } from '../rollout/waker.ts'
import type { Log } from '../store/log.ts'
import type { Pool } from '../store/pool/pool.ts'
import { type Clock, type Identity, openSwarm, type Swarm } from '../swarm/index.ts'
import { swarmOptions } from '../wiring/swarm-config.ts'
import type { Closers } from './begin.ts'
import { vouchesFor } from './core.ts'
import { openPeerStore } from './home/peer-store.ts'

interface NetworkOptions {
  settings(): Config
  paths: Paths
  invite: string | undefined
}

interface NetworkParts {
  identity: Identity
  tasks: TaskBook
  model: StoredModel
  policy: LivePolicy
  plugins: PluginHost
  core: Pick<NodeCore, 'onForeignGroup' | 'learner'>
  /** Whether what a group teaches comes with a peer's weights, so that it need not be trained on. */
  isTrainedElsewhere(group: Pick<Group, 'author' | 'prompt'>): boolean
  /** A peer accuses another of a forged step. */
  onAccusation(accusation: Accusation): void
  pool: Pick<Pool, 'hasSeen'>
  journal: Journal
  /** Woken when a group has arrived. */
  changed: Waker
  log: Log
  clock: Clock
  random(): number
  closers: Closers
}

/** Resolves with undefined if the config turns the swarm off. */
export async function openNetwork(
  { settings, paths, invite }: NetworkOptions,
  {
    identity,
    tasks,
    model,
    policy,
    plugins,
    core,
    isTrainedElsewhere,
    onAccusation,
    pool,
    journal,
    changed,
    log,
    clock,
    random,
    closers,
  }: NetworkParts,
): Promise<Swarm | undefined> {
  if (!settings().swarm.enabled) return undefined
  const { swarm, close } = await openSwarm(
    {
      tasks: tasks.chosen.map(({ task: { name, version } }) => ({ name, version })),
      ...swarmOptions(settings, paths),
      invite,
    },
    {
      identity,
      clock,
      log,
      tasks: { find: tasks.find },
      codec: codecOf(model.tokenizer, model.spec.vocabulary, model.spec.contextLength),
      version: () => policy.reference().version,
      onGroup(group) {
        if (core.onForeignGroup(group)) changed.wake()
        journal.group(group, 'foreign')
      },
      isTrainedElsewhere,
      isTrusted: (peer) => vouchesFor(settings().swarm.trust, peer),
      onAccusation,
      hasWritten: pool.hasSeen,
      isUnknown: (author) => core.learner.isUnknown(author),
      onEvent: (event) => journal.swarm(event),
      states: plugins.shared,
      random,
      openPeers: (at) => openPeerStore(at, { log }),
    },
  )
  closers.add(close)
  return swarm
}
