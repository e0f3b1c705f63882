// A node's loops with all that is real but the network and the size: a random decoder of 132 characters that writes and
// learns on the real engine, checkpoints on a disk in memory, and a peer that sends whatever this node writes, as its own.
// A test may harm the weights, and every roll-back comes while a round is under way. Another may go on with the checkpoints
// of a node before it.

import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type Config, configSchema } from '../../daemon/config/schema.ts'
import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import { createJournal } from '../../daemon/control/journal/journal.ts'
import { createShowcase } from '../../daemon/control/journal/showcase.ts'
import type { NodeCore } from '../../daemon/core/core.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { openCore } from '../../daemon/node/core.ts'
import { startLoops } from '../../daemon/node/loops.ts'
import { openPolicy } from '../../daemon/policy/live-policy.ts'
import type { Model } from '../../daemon/policy/model.ts'
import { createParkedGroups } from '../../daemon/rollout/parked/parked.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import { openDatabase } from '../../daemon/store/database/database.ts'
import { createStepSeries } from '../../daemon/store/database/records.ts'
import { createPool } from '../../daemon/store/pool/pool.ts'
import { createCheckpointSchedule } from '../../daemon/trainer/checkpoints/checkpoint-schedule.ts'
import { restoreBefore, restoreNode, saveNode } from '../../daemon/trainer/checkpoints/checkpointing.ts'
import type { Finding } from '../../daemon/trainer/learning/contract.ts'
import { createTrainedOn } from '../../daemon/trainer/trained-on.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { NO_PHASES } from '../../protocol/api/index.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { randomWeights, SPEC } from '../engine/model.ts'
import { setUp as openHost } from '../host/setup.ts'
import { characterTokenizer } from '../rollout/characters.ts'
import { SimulatedDisk } from '../store/simulated-disk.ts'

/** ASCII, after the tokenizer's four tokens that stand for structure. */
const spec = { ...SPEC, vocabulary: 132 }
const model = {
  spec,
  weights: randomWeights(spec, 1),
  digest: 'a'.repeat(64),
  tokenizer: characterTokenizer(),
} as unknown as Model
/** About half of what a random model writes is right. */
const even: Task = {
  ...TASKS[0]!,
  name: 'even',
  generate: () => ({ question: 'x', key: 'b', steps: [] }),
  verify: (_, text) => ({ score: (text.codePointAt(0) ?? 1) % 2 === 0 ? 1 : 0, answer: null, found: 'none' }),
}
const config: Config = configSchema.parse({
  rollout: { group_size: 4, groups_per_round: 2 },
  model: { max_completion_tokens: 6 },
  training: { batch_groups: 2, max_peer_groups: 2, adaptive_sharing: false },
  checkpoint: { every_steps: 5 },
  eval: { every_seconds: 0 },
})
const never = new AbortController().signal
const log = (): void => {}

export interface Accident {
  /** The policy's version at which it happens. */
  at: number
  /** To the trainer's weights, of which it gets a copy to change. */
  harm(weights: Weights): void
}

/** Evaluations, of which the test decides which fail. */
export interface Evaluations {
  isFailing: boolean
}

export type LoopedNode = Awaited<ReturnType<typeof startLooped>>

/** It stops training at a roll-back until `goOn`. Whatever `close` closes is closed in the reverse order. */
export async function startLooped(
  {
    accident,
    evaluations: evaluated,
    disk = new SimulatedDisk(),
    exchange = async () => {},
  }: {
    accident?: Accident
    evaluations?: Evaluations
    disk?: SimulatedDisk
    /** Of weights with peers. */
    exchange?(signal?: AbortSignal): Promise<void>
  },
  close: (closer: () => Promise<unknown>) => void,
) {
  const settings = (): Config =>
    evaluated ? { ...config, eval: { every_seconds: 60, prompts_per_task: 1 } } : config
  const directory = await mkdtemp(join(tmpdir(), 'waggle-looped-'))
  close(() => rm(directory, { recursive: true }))
  const database = await openDatabase({ directory }, { log })
  close(() => database.close())
  const checkpoints = await createCheckpoints({ directory: '/checkpoints' }, { disk, clock: () => 1e12, log })
  const ids = { lineage: model.digest, spec }
  const restored = await restoreNode(ids, { checkpoints, disk })
  const [engine, trainer] = [createLocalEngine({ threads: 1 }), createLocalEngine({ threads: 1 })]
  const rollBack = { isUnderWay: false, roundBegan: createWaker(), over: createWaker() }
  const sampler: Engine = {
    ...engine,
    async generate(request, options) {
      // Only evaluations are greedy.
      if (evaluated?.isFailing && request.temperature === 0) throw new Error('the sampler failed')
      const isLate = rollBack.isUnderWay
      const samples = await engine.generate(request, options)
      if (!isLate) return samples
      rollBack.roundBegan.wake()
      await rollBack.over.after(0, never)
      return samples
    },
  }
  const policy = await openPolicy({ model, state: restored?.policy }, { sampler, trainer })
  close(() => policy.close())
  const { plugins, troubles } = await openHost([])
  const tasks = createTaskBook([even], [{ name: 'even' }])
  const pool = await createPool({ capacityGroups: 64 }, { database, log })
  const showcase = createShowcase({}, tasks)
  const [steps, evaluations] = ['step', 'eval'].map((name) => createStepSeries({ name }, { database }))
  const journal = await createJournal(
    { learningRate: () => config.training.learning_rate, logFile: '' },
    {
      ...{ showcase, steps: steps!, evaluations: evaluations!, now: () => 0 },
      events: createEventLog({}, { clock: () => 0 }),
      trainedOn: createTrainedOn({ now: () => 0 }),
    },
  )
  const changed = createWaker()
  const saved = new Map<number, Weights>()
  const findings: Finding[] = []
  /** Own groups that came in since the roll-back began. */
  const own: Group[] = []
  let [isPaused, isHarmed, rounds, lost] = [false, false, restored?.state.rounds ?? 0, Number.NaN]
  const schedule = createCheckpointSchedule(
    {
      settings: () => ({
        everySteps: config.checkpoint.every_steps,
        everySeconds: config.checkpoint.every_seconds,
      }),
      version: policy.reference().version,
    },
    { monotonic: () => 0 },
  )
  const write = async (): Promise<void> => {
    const { version, lineage } = policy.reference()
    const node = { version, lineage, rounds, counters: {}, spec, base: { name: 'tiny', directory: '/' } }
    await saveNode({ ...node, learner: core.learner.state() }, { trainer, checkpoints })
    saved.set(version, await trainer.weights())
  }
  const save = (): Promise<void> => schedule.run(policy.reference().version, write)

  const parked = createParkedGroups()
  const core: NodeCore = openCore(
    { settings: () => config, self: 'me', seed: 1, restored: restored?.state.learner },
    {
      ...{
        policy,
        plugins: plugins,
        pool,
        parked,
        roles: new Map(),
        isKnown: () => false,
        phases: NO_PHASES,
      },
      isJoined: () => false,
      nodes: () => 1,
      journal: {
        finding(finding, step) {
          findings.push(finding)
          journal.finding(finding, step)
          if (finding.type === 'guard' && finding.guard === 'roll-back') isPaused = true
        },
      },
      async restore(before) {
        lost = policy.reference().version
        own.length = 0
        rollBack.isUnderWay = true
        // They go in any case; now, there is room for another round.
        pool.evict(({ origin }) => origin === 'own')
        changed.wake()
        await rollBack.roundBegan.after(0, never)
        const earlier = await restoreBefore(before, ids, { checkpoints, disk })
        await policy.goBack(earlier?.policy)
        await plugins.restore(policy.reference().version, earlier?.plugins ?? [])
        rollBack.isUnderWay = false
        return { step: earlier?.state.version ?? 0 }
      },
    },
  )
  const loops = startLoops(
    { settings, self: 'me', seed: 1 },
    {
      ...{
        core,
        phases: NO_PHASES,
        policy,
        plugins: plugins,
        tasks,
        swarm: undefined,
        onBatch: showcase.used,
        changed,
        parked,
      },
      record: { step() {} },
      heads: { exchange, isRead: () => true, ownGroup() {} },
      audits: { next() {} },
      journal: {
        ...journal,
        group(group, origin) {
          own.push(group)
          const id = createHash('sha256').update(group.id).digest('hex')
          pool.add({ ...group, id, author: 'peer' }, 'foreign')
          journal.group(group, origin)
        },
      },
      now: () => 0,
      monotonic: () => 0,
      sleep: async () => {
        await setImmediate()
      },
      nextRound: () => rounds++,
      save,
      isSaveDue: () => schedule.isDue(policy.reference().version),
      async restIfDue() {},
      async serveRequests() {
        if (!accident || isHarmed || policy.reference().version < accident.at) return
        isHarmed = true
        const weights = await trainer.weights()
        accident.harm(weights)
        await trainer.setWeights(weights)
      },
      mustWait: () => isPaused,
    },
  )
  close(loops.end)
  close(async () => rollBack.over.wake())

  return {
    sampler,
    ...{ policy, checkpoints, disk, saved, findings, own, troubles, learner: core.learner },
    /** What fails now, as the journal says. */
    failing: () => journal.trouble,
    /** As after a restart: what the newest checkpoint has. */
    restored: () => restoreNode(ids, { checkpoints, disk }),
    /** As a graceful stop: with a checkpoint. */
    async stop() {
      await loops.end()
      await save()
    },
    /** The version that the roll-back threw away. */
    lost: () => lost,
    /** The late round gets its texts, and training goes on. */
    goOn() {
      rollBack.over.wake()
      isPaused = false
      changed.wake()
    },
    async until(done: () => boolean): Promise<void> {
      while (!done()) await setImmediate()
    },
  }
}
