// One life of a node, from its disk to its loops: the daemon's own core, loops, pool, checkpoints, database, admission,
// verification, fetching and memory. What is not the daemon's: the policy (one number), LevelDB, libp2p, and the wiring
// in daemon/main.ts.

import type { NodeCore } from '../../../daemon/core/core.ts'
import type { NodeAudits } from '../../../daemon/node/audits/audits.ts'
import { startLoops } from '../../../daemon/node/loops.ts'
import { openPolicy } from '../../../daemon/policy/live-policy.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import type { Pool } from '../../../daemon/store/pool/pool.ts'
import type { Exchange } from '../../../daemon/swarm/exchange.ts'
import type { Swarm } from '../../../daemon/swarm/index.ts'
import type { Ladder } from '../../../daemon/trainer/audit/ladder.ts'
import { type Alert, NO_PHASES } from '../../../protocol/api/index.ts'
import { setUp as openHost } from '../../host/setup.ts'
import type { SimulatedDisk } from '../../store/simulated-disk.ts'
import { openSimulatedRounds } from '../audits.ts'
import { model, skillOf } from '../policy.ts'
import { randomOf } from '../world.ts'
import type { Life } from './disk.ts'
import { createEngines, hastyTask } from './engines.ts'
import type { Lasting } from './lasting.ts'
import { openLearning } from './learning.ts'
import { type Network, openNetwork } from './network.ts'
import { allIn, openRecords, POOL_GROUPS } from './records.ts'
import { openStorage, type Storage } from './storage.ts'
import { type Times, timesOf } from './times.ts'

export interface Living extends Life, Pick<Network, 'exchange' | 'onGossip' | 'answer'> {
  pool: Pool
  core: NodeCore
  /** Of the weights that it writes rollouts with; the trainer may have some that are only tried. */
  skill(): Promise<number>
  alerts(): readonly Alert[]
  ladder: Ladder
  auditCost: NodeAudits['cost']
  /** How often weights of each stranger were taken. */
  taken: ReadonlyMap<string, number>
}

const SAMPLE_MS = 5000

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
  const taken = startNode(life, { ...shared, learning, exchange })
  const skill = async () => skillOf(await engines.sampler.weights())
  lookRegularly(life, { node, times, exchange, core, pool: records.pool, skill })
  return Object.assign(life, {
    ...{ exchange, onGossip, answer, pool: records.pool, core, skill, taken },
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

type Shared = Omit<Parameters<typeof openNetwork>[1], never> & {
  plugins: Parameters<typeof openLearning>[1]['plugins']
}

/** Starts its loops. How often weights of each stranger were taken is what it returns. */
function startNode(
  life: Life,
  { node, times, records, policy, plugins, tasks, learning, exchange }: Shared & { exchange: Exchange },
): Map<string, number> {
  const { settings, self, name, world } = node
  const { heads, core, saving } = learning
  const { showcase, changed, parked, journal, record, rounds } = records
  const taken = new Map<string, number>()
  const auditRounds = roundsOf(taken, { node, learning, journal })
  startLoops(
    { settings: () => settings, self, seed: randomOf(name).next() * 2 ** 31 },
    {
      heads: {
        ownGroup: heads.ownGroup,
        async exchange() {
          await heads.exchange()
          auditRounds.next()
          if (life.isAlive && !node.isPublic) node.checks.joined(heads.info()!.peers.map(({ peer }) => peer))
        },
      },
      ...{ core, phases: NO_PHASES, policy, plugins, tasks, changed, parked, journal, record },
      onBatch: showcase.used,
      swarm: publishing(exchange, node),
      now: times.clock.now,
      monotonic: () => world.time,
      sleep: times.sleep,
      nextRound: rounds.next,
      ...{ save: saving.save, isSaveDue: saving.isSaveDue },
      async serveRequests() {},
      async restIfDue() {},
      mustWait: () => !life.isAlive,
    },
  )
  return taken
}

function roundsOf(
  taken: Map<string, number>,
  {
    node: { settings, self, name, world, net, auditRandom },
    learning: { audits, heads },
    journal,
  }: { node: Lasting; learning: Shared['learning']; journal: Shared['records']['journal'] },
): ReturnType<typeof openSimulatedRounds> {
  const watched: typeof heads = {
    ...heads,
    takeAudited(weights) {
      taken.set(weights.author, (taken.get(weights.author) ?? 0) + 1)
      heads.takeAudited(weights)
    },
  }
  return openSimulatedRounds(
    {
      ...{ audits, heads: watched, random: auditRandom.next, monotonic: () => world.time },
      peers: () => [...net.neighbours(self)],
      onFailed(peer, message) {
        heads.refuse(peer)
        journal.notice('audit', message)
      },
      log: (message) => world.note(`${name} ${message}`),
    },
    settings,
  )
}

function publishing({ publisher, records }: Exchange, { truth, self }: Lasting): Swarm {
  return {
    name: 'sim',
    publish(draft) {
      truth.wrote.get(self)!.add(draft.id)
      return publisher.publish(draft)
    },
    used(author, groups = 1) {
      const record = records.get(author)
      if (record) record.used += groups
    },
  } as Swarm
}

/** The checks look at its state every few seconds. */
function lookRegularly(
  life: Life,
  {
    node,
    times,
    exchange,
    core,
    pool,
    skill,
  }: {
    node: Lasting
    times: Times
    exchange: Exchange
    core: NodeCore
    pool: Pool
    skill(): Promise<number>
  },
): void {
  const look = async (): Promise<void> => {
    if (!life.isAlive) return
    node.checks.state({
      pool: pool.counts(),
      capacity: POOL_GROUPS,
      records: exchange.records.all().length,
      reputation: exchange.reputation.all().length,
      waiting: exchange.validator.waiting,
      skill: await skill(),
      isCut: (peer) => exchange.reputation.isCut(peer),
      setAside: core.learner.state().setAside.map(({ author }) => author),
    })
    times.after(SAMPLE_MS, () => void look())
  }
  times.after(SAMPLE_MS, () => void look())
}
