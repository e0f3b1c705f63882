// One life of a node, from its disk to its loops: the daemon's own core, loops, pool, checkpoints, database, admission,
// verification, fetching and memory. What is not the daemon's: the policy (one number), LevelDB, libp2p, and the wiring
// in daemon/main.ts.

import type { NodeCore } from '../../../daemon/core/core.ts'
import type { NodeAudits } from '../../../daemon/node/audits/audits.ts'
import { openPolicy } from '../../../daemon/policy/live-policy.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import type { Pool } from '../../../daemon/store/pool/pool.ts'
import type { Exchange } from '../../../daemon/swarm/exchange.ts'
import type { Ladder } from '../../../daemon/trainer/audit/ladder.ts'
import type { Alert } from '../../../protocol/api/index.ts'
import { setUp as openHost } from '../../host/setup.ts'
import type { SimulatedDisk } from '../../store/simulated-disk.ts'
import { model, skillOf } from '../policy.ts'
import type { Life } from './disk.ts'
import { createEngines, hastyTask } from './engines.ts'
import type { Lasting } from './lasting.ts'
import { openLearning } from './learning.ts'
import { lookRegularly, startNodeLoops } from './loops.ts'
import { type Network, openNetwork } from './network.ts'
import { allIn, openRecords } from './records.ts'
import { openStorage, type Storage } from './storage.ts'
import { type Times, timesOf } from './times.ts'

export interface Living extends Life, Pick<Network, 'exchange' | 'onGossip' | 'answer'> {
  pool: Pool
  core: NodeCore
  /** Of the weights that it writes rollouts with; the trainer may have some that are only tried. */
  skill(): Promise<number>
  alerts(): readonly Alert[]
  /** It tries weights of peers, and asks for no others meanwhile. */
  isTrying(): boolean
  ladder: Ladder
  auditCost: NodeAudits['cost']
  /** How often weights of each stranger were taken. */
  taken: ReadonlyMap<string, number>
}

/** `last`: the life before, if there was one. */
export async function openLife(
  life: Life,
  { disk, last }: { disk: SimulatedDisk; last: Living | undefined },
  node: Lasting,
): Promise<Living> {
  const times = timesOf(life, node)
  const storage = await openStorage({ life, disk }, { node, times, weights: () => engines.trainer.weights() })
  const engines = createEngines(life, node, times)
  const policy = await openPolicy({ model, state: storage.restored?.policy }, engines)
  const { plugins } = await openHost([])
  const tasks = createTaskBook([hastyTask(life, node)], [{ name: 'even' }])
  let network: Network | undefined
  const isKnown = (peer: string) => network!.exchange.isKnown(peer)
  const records = await openRecords(life, { node, times, storage, tasks, isKnown })
  const shared = { node, times, storage, records, policy, plugins, tasks }
  const learning = await openLearning(life, { ...shared, isKnown, swarm: () => network?.swarm })
  network = openNetwork(life, { ...shared, learning })
  const { exchange, onGossip, answer } = network
  await exchange.start()
  tellRestarted({ node, times, storage, pool: records.pool, exchange, last })
  const { core, audits } = learning
  const taken = startNodeLoops(life, { ...shared, learning, exchange })
  const skill = async () => skillOf(await engines.sampler.weights())
  lookRegularly(life, { node, times, exchange, core, pool: records.pool, skill })
  return Object.assign(life, {
    ...{ exchange, onGossip, answer, pool: records.pool, core, skill, taken },
    isTrying: () => learning.heads.info()?.trying !== undefined,
    alerts: () => records.journal.telemetry.alerts,
    ladder: audits.ladder,
    auditCost: audits.cost,
  })
}

/** The checks compare what it begins with with what it had. */
function tellRestarted({
  node,
  times: { clock },
  storage: { restored },
  pool,
  exchange,
  last,
}: {
  node: Lasting
  times: Times
  storage: Storage
  pool: Pool
  exchange: Exchange
  last: Living | undefined
}): void {
  node.checks.restarted(
    restored && {
      sequence: restored.checkpoint.manifest.sequence,
      version: restored.policy.version,
      skill: skillOf(restored.policy.weights),
    },
    allIn(pool),
    last && allIn(last.pool),
    {
      isDamaged: node.isDamaged,
      isCut: (peer) => exchange.reputation.isCut(peer),
      now: clock.now(),
    },
  )
  node.isDamaged = false
}
