// What a node does: the swarm, the loops, and whoever is served.

import type { Group } from '../../../protocol/train/index.ts'
import { type Conversations, nameForClients } from '../../agents/index.ts'
import { createRestTimer } from '../../limits/index.ts'
import { createCheckpointRequests } from '../../trainer/checkpoints/checkpoint-requests.ts'
import { openAgents } from '../agents.ts'
import { openAgain, openKept } from '../kept.ts'
import { startLoops } from '../loops.ts'
import { openNetwork } from '../network.ts'
import { takeOwnGroup } from '../own-groups.ts'
import { openNodeServing } from '../policy/serving.ts'
import { openAuditRounds } from './audits.ts'
import type { NodeContext } from './context.ts'
import type { Learning } from './learning.ts'
import type { Plugins } from './plugins.ts'
import type { Trained } from './policy.ts'
import type { Records } from './records.ts'
import type { Store } from './store.ts'

type Parts = Store & Plugins & Trained & Records & Learning

export type Work = Awaited<ReturnType<typeof startWork>>

export async function startWork(context: NodeContext, parts: Parts) {
  const { options, started, machine, settings, self, seed, changed, late } = context
  const { paths, invite } = options
  const { log, closers, phases, identity } = started
  const { now, monotonic, after, sleep, random } = machine
  const { limits, pool, tasks, host, models, policies, journal, showcase } = parts
  const { core, heads, wishes, rounds, parked, record, saving } = parts
  const { policy } = policies
  const swarm = await phases.run('network', {}, () =>
    openNetwork(
      { settings, paths, invite },
      {
        ...{ identity, tasks, model: models.model, policy, plugins: host, core, journal, changed, log },
        ...{ closers, pool, clock: { now, after }, random, isTrainedElsewhere: heads.isTrainedElsewhere },
        onAccusation: parts.audits.accused,
      },
    ),
  )
  late.swarm = swarm
  const requests = createCheckpointRequests(() => saving.save({ isAsked: true }))
  const isHeld = (): boolean => wishes.paused || limits.isHeld
  const restTimer = createRestTimer({ isHeld, after, onDue: changed.wake })
  closers.add(restTimer.close)
  const audits = openAuditRounds(context, parts)
  const onGroup = async (group: Group): Promise<void> => {
    takeOwnGroup(group, { journal, core, heads, changed })
    await pool.flush()
  }
  const conversations = await openKept(
    { settings, self },
    {
      ...{ database: started.home.database, core, policy, pool, closers, onGroup, log: journal.log },
      ...{ now, after, randomBytes: machine.randomBytes },
    },
  )
  const loops = startLoops(
    { settings, self, seed },
    {
      ...{ core, policy, phases, plugins: host, tasks, swarm, journal, parked, changed },
      onBatch(ids) {
        showcase.used(ids)
        conversations.used(ids)
      },
      ...{ now, monotonic, sleep, save: saving.save, isSaveDue: saving.isSaveDue, record },
      ...{ heads, audits },
      nextRound: rounds.next,
      serveRequests: requests.serve,
      mustWait: () => wishes.paused || limits.mustWait(),
      async restIfDue() {
        if (restTimer.isDue) await saving.rest()
      },
    },
  )
  closers.add(loops.end)
  const answering = await openServing(context, parts, { isHeld, conversations, onGroup })
  openAgain(
    { settings, self, context: models.plan.conversation?.limit ?? policy.spec.contextLength },
    {
      ...{ ...machine, conversations, core, policy, closers, onGroup, isHeld, log: journal.log },
      ...{ serving: answering.serving, telemetry: journal.telemetry, score: parts.keptScore },
    },
  )
  return { swarm, requests, loops, conversations, ...answering }
}

interface AnsweringParts {
  isHeld(): boolean
  conversations: Conversations
  onGroup(group: Group): Promise<void>
}

/** Serving, and agents whose rollouts are learnt from. */
async function openServing(
  { options: { config, paths }, started: { closers }, machine, self, changed }: NodeContext,
  { models, policies: { policy }, checkpoints, tasks, journal, rows, core }: Parts,
  { isHeld: isPaused, conversations, onGroup }: AnsweringParts,
) {
  const { now, monotonic, after, randomBytes } = machine
  const clock = { now, monotonic, after, randomBytes }
  const { conversation } = models.plan
  const asked = { config, paths, model: nameForClients(models.found.name), conversation }
  const serving = await openNodeServing(asked, {
    ...{ policy, checkpoints, conversations, closers, log: journal.log },
    ...clock,
  })
  const agents = await openAgents(
    { ...asked, self, rows },
    { serving, core, policy, tasks, journal, changed, closers, ...clock, isPaused, onGroup },
  )
  return { serving, agents }
}
