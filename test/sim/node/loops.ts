// What a life does again and again: the daemon's loops, its audits of peers, and looks at its state for the checks.

import type { NodeCore } from '../../../daemon/core/core.ts'
import { startLoops } from '../../../daemon/node/loops.ts'
import type { Pool } from '../../../daemon/store/pool/pool.ts'
import type { Exchange } from '../../../daemon/swarm/exchange.ts'
import type { Swarm } from '../../../daemon/swarm/index.ts'
import { NO_PHASES } from '../../../protocol/api/index.ts'
import { openSimulatedRounds } from '../audits.ts'
import { randomOf } from '../world.ts'
import type { Life } from './disk.ts'
import type { Lasting } from './lasting.ts'
import type { Learning, LearningParts } from './learning.ts'
import type { NetworkParts } from './network.ts'
import { POOL_GROUPS, type Records } from './records.ts'
import type { Times } from './times.ts'

const SAMPLE_MS = 5000

interface LoopsParts extends NetworkParts, Pick<LearningParts, 'plugins'> {
  exchange: Exchange
}

/** Returns how often weights of each stranger were taken. */
export function startNodeLoops(
  life: Life,
  { node, times, records, policy, plugins, tasks, learning, exchange }: LoopsParts,
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
        ...{ ownGroup: heads.ownGroup, isRead: heads.isRead },
        async exchange(signal) {
          await heads.exchange(signal)
          if (life.isAlive && !node.isPublic) node.checks.joined(heads.info()!.peers.map(({ peer }) => peer))
        },
      },
      audits: auditRounds,
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
  }: { node: Lasting; learning: Learning; journal: Records['journal'] },
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
export function lookRegularly(
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
