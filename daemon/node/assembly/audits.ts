// Receipts of this node's steps, and audits of its peers'.

import { join } from 'node:path'
import { createBlobs } from '../../store/blobs.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { NodeAudits } from '../audits/audits.ts'
import { openLadderRecord } from '../audits/ladder-record.ts'
import { openAudits } from '../audits/open.ts'
import { type AuditRounds, createAuditRounds } from '../audits/rounds.ts'
import type { NodeHeads } from '../heads/heads.ts'
import type { Wishes } from '../state.ts'
import type { NodeContext } from './context.ts'
import type { Plugins } from './plugins.ts'
import type { Trained } from './policy.ts'
import type { Records } from './records.ts'
import type { Store } from './store.ts'

export async function openNodeAudits(
  { options: { paths }, started, machine, settings, self, late }: NodeContext,
  { known, models, policies: { policy }, restored, limits }: Store & Plugins & Trained,
): Promise<NodeAudits> {
  const { log, phases, identity } = started
  const blobs = createBlobs({ directory: join(paths.audits, 'heads') }, { disk })
  const climbers = await openLadderRecord(policy.lineage, { database: started.home.database, log, blobs })
  const { now, monotonic, sleep, random } = machine
  const processorSeconds = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  return openAudits(
    { settings, paths, self, restored: restored?.receipt, threads: 1, climbers },
    {
      ...{
        policy,
        models,
        known,
        disk,
        log,
        phases,
        now,
        monotonic,
        sleep,
        random,
        processorSeconds,
      },
      ...{ signer: identity.signer, swarm: () => late.swarm, mayWrite: limits.mayWrite },
      // Nobody is followed before the node learns.
      odds: () => late.core!.learner.odds(),
    },
  )
}

/** Audits of the peers whose weights are averaged, and of strangers whose weights may be. */
export function openAuditRounds(
  { started: { closers }, machine: { monotonic, random }, settings, late }: NodeContext,
  {
    audits,
    heads,
    wishes,
    limits,
    journal,
  }: Store & Records & { audits: NodeAudits; heads: NodeHeads; wishes: Wishes },
): AuditRounds {
  const connected = (): string[] =>
    (late.swarm?.peers() ?? []).filter((peer) => peer.connected).map(({ id }) => id)
  const rounds = createAuditRounds({
    ...{ audits, monotonic, random, log: (message) => journal.log('info', message) },
    heads,
    isOn: () => !wishes.paused && !limits.mustWait(),
    peers: () => (settings().swarm.audits ? connected().filter(heads.isJoined) : []),
    strangers: () => (settings().swarm.weights === 'audited' ? connected().filter(heads.isStranger) : []),
    onFailed(peer, message) {
      heads.refuse(peer)
      journal.notice('audit', message)
    },
  })
  closers.add(rounds.close)
  return rounds
}
