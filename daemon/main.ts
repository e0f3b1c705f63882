// The composition root of a node: opens all parts, connects them, starts the loops, and closes everything in reverse
// order. The clock, randomness and facts about the machine are read here and passed on.

import { randomBytes } from 'node:crypto'
import { homedir, hostname } from 'node:os'
import { PACKAGE_ROOT } from '../protocol/package.ts'
import { nameForClients } from './agents/index.ts'
import { createLiveConfig } from './config/live.ts'
import { createJournal } from './control/journal/journal.ts'
import { createShowcase } from './control/journal/showcase.ts'
import { openTensorBoard } from './control/journal/tensorboard.ts'
import type { NodeCore } from './core/core.ts'
import { parameterCount } from './engine/decoder.ts'
import type { PluginTrouble } from './host/host.ts'
import { hash32, randomStream } from './host/random.ts'
import { createRestTimer } from './limits/index.ts'
import { openAgents } from './node/agents.ts'
import { openControl } from './node/control.ts'
import { openCore, POOL_GROUPS } from './node/core.ts'
import { surviveStreamErrors } from './node/facts/stream-errors.ts'
import { trainingFacts } from './node/facts/training-facts.ts'
import { openHeads } from './node/heads/open.ts'
import { watchDiskSpace } from './node/home/disk-space.ts'
import { enterLineage } from './node/home/lineage.ts'
import { secretFiles } from './node/home/secrets.ts'
import { coresFor, openLimits } from './node/limits.ts'
import { startLoops } from './node/loops.ts'
import { openNetwork } from './node/network.ts'
import { openModels } from './node/policy/models.ts'
import { openPolicies } from './node/policy/policy.ts'
import { openNodeServing } from './node/policy/serving.ts'
import { hasTeacher, openTeachers } from './node/policy/teachers.ts'
import { makeWarmStart } from './node/policy/warm-start.ts'
import { createReconfigure } from './node/reconfigure.ts'
import { openRounds } from './node/rounds.ts'
import { checkpointInfo, createSaving } from './node/saving.ts'
import type { Root } from './node/start/start.ts'
import { createNodeState, type Wishes } from './node/state.ts'
import { after, sleep } from './platform/index.ts'
import { hasRoomToMix } from './policy/memory-plan/index.ts'
import { bundledModel } from './policy/sources/find.ts'
import { trainedMeta } from './policy/trained.ts'
import { createParkedGroups } from './rollout/parked/parked.ts'
import { createPluginWorld } from './rollout/plugins/plugin-world.ts'
import { createTaskBook } from './rollout/tasks.ts'
import { createWaker } from './rollout/waker.ts'
import { createCheckpoints } from './store/checkpoints/checkpoints.ts'
import { nodeDisk as disk } from './store/node-disk.ts'
import { createPool } from './store/pool/pool.ts'
import type { Swarm } from './swarm/index.ts'
import { createCheckpointRequests } from './trainer/checkpoints/checkpoint-requests.ts'
import { restoreNode } from './trainer/checkpoints/checkpointing.ts'
import { createTrainingRecord } from './trainer/checkpoints/training-record.ts'
import { createTrainedOn } from './trainer/trained-on.ts'
import { datasetText, GONE, loadTasks, PLUGINS } from './wiring/built-in.ts'
import { readRows } from './wiring/environments.ts'
import { openHost, rolesOf } from './wiring/node-plugins.ts'

const now = Date.now
const monotonic = (): number => performance.now()

export const run: Root = async (
  { config, paths, lineage, invite, signal, onProgress, ...options },
  { home, identity, node, finish, phases, events, log, closers },
) => {
  const live = createLiveConfig(config)
  const { settings } = live
  const tell = (message: string): void => onProgress({ message })
  // Until the journal exists, problems of plugins and engines go to the log.
  let tellTrouble = ({ name, message }: PluginTrouble): void => log('warn', `${name}: ${message}`)
  let notice = (message: string): void => log('warn', `engine: ${message}`)
  let tellState = (): void => {}
  closers.add(surviveStreamErrors({ log }))

  // ── Limits, store ───────────────────────────────────────────────────────
  const self = identity.peerId
  const changed = createWaker()
  const space = await watchDiskSpace(paths.state)
  closers.add(space.close)
  const limits = await openLimits(settings, {
    ...{ space, log, closers, changed, now, monotonic, after },
    onChange: () => tellState(),
    network: () => swarm?.network(),
  })
  let swarm: Swarm | undefined
  const seed = config.node.seed ?? hash32(0, self)
  const { database } = home
  let core: NodeCore | undefined
  const pool = await createPool(
    { capacityGroups: POOL_GROUPS },
    { database, log, isKnown: (author) => core?.learner.isKnown(author) ?? false },
  )
  closers.add(() => pool.flush())

  // ── Tasks and plugins: conflicts are reported before any model is loaded ─
  const known = await loadTasks(config.tasks, {
    onTrouble: (trouble) => tellTrouble({ kind: 'task', hook: 'score', switchedOff: false, ...trouble }),
    onDataset: (facts) => log('info', datasetText(facts)),
  })
  const tasks = createTaskBook(known, config.tasks)
  const rows = await Promise.all(config.environments.map(readRows))
  const host = await openHost(
    { config, seed, tasks: known, paths },
    {
      builtIn: PLUGINS,
      gone: GONE,
      now: monotonic,
      sleep,
      log,
      onTrouble: (trouble) => tellTrouble(trouble),
    },
  )
  closers.add(host.close)
  const wished = rolesOf(host, config)

  // ── Model, checkpoint, policy ───────────────────────────────────────────
  const allCheckpoints = await createCheckpoints(
    {
      directory: paths.checkpoints,
      keep: config.checkpoint.keep,
      apart: () => Math.floor(settings().checkpoint.every_steps / 2),
    },
    { disk, clock: now, log },
  )
  const manifests = await allCheckpoints.manifests()
  const models = await openModels(
    {
      ...{ config, paths, tasks: known, roles: wished, checkpoints: manifests, lineage },
      ...{ bundled: bundledModel(PACKAGE_ROOT), env: process.env, homedir: homedir() },
    },
    { log, signal, phases, tell, fetch, sleep },
  )
  const { model, found } = models
  signal.throwIfAborted()
  const checkpoints = allCheckpoints.of(model.digest)
  const { steps, evaluations } = await enterLineage(
    { lineage: model.digest, newest: manifests[0]?.lineage },
    { database, pool },
  )
  const restored = await restoreNode({ lineage: model.digest, spec: model.spec }, { checkpoints, disk })
  if (restored) {
    tell(`continuing at step ${restored.state.version}`)
    pool.retire(restored.state.learnt ?? [])
    await steps.truncate(restored.state.version + 1)
    await evaluations.truncate(restored.state.version + 1)
  }
  tell('starting the engines')
  const policies = await phases.run('start', {}, () =>
    openPolicies(
      {
        ...{ config, paths, env: process.env, seed, models, roles: wished, restored },
        ...{ stopStrings: host.writes, cores: coresFor(config) },
      },
      { log, closers, fetch, sleep, onNotice: (message) => notice(message) },
    ),
  )
  const { policy, roles } = policies

  // ── Journal ───────────────────────────────────────────
  const showcase = createShowcase({}, tasks)
  const trainedOn = createTrainedOn({ now })
  trainedOn.restore(restored?.state.trainedOn)
  const journal = await createJournal(
    { learningRate: () => settings().training.learning_rate, logFile: paths.logFile },
    { events, showcase, steps, evaluations, trainedOn, now },
  )
  notice = (message) => journal.notice('engine', message)
  tellTrouble = journal.plugin
  if (restored) {
    const { generated = 0, published = 0 } = restored.state.counters
    Object.assign(journal.telemetry.counters, { generated, published })
    journal.telemetry.checkpoint(checkpointInfo(restored.checkpoint))
  }

  const teachers = await openTeachers(
    { paths, key: process.env.WAGGLE_TEACHER_KEY },
    { policy, disk, fetch, sleep, phases, heads: () => heads.teaching() },
  )
  await host.open(
    createPluginWorld(
      {
        limits: { context: model.spec.contextLength, completion: config.model.max_completion_tokens },
        temperature: config.rollout.temperature,
      },
      {
        tasks,
        policy: {
          sampler: { generate: (...asked) => policy.sampler.generate(...asked) },
          scorer: { score: (request) => policy.scorer.score(request) },
          tokenizer: model.tokenizer,
        },
        roles,
        teachers,
      },
    ),
    policy.reference().version,
    restored?.plugins,
  )

  const { tensorboard } = config.metrics
  if (tensorboard !== undefined) {
    const sink = await openTensorBoard(
      {
        directory: tensorboard,
        firstStep: (restored?.state.version ?? 0) + 1,
        writer: `${hostname().replaceAll(/[^\w-]/g, '_')}.${process.pid}`,
      },
      {
        events,
        clock: now,
        onTrouble: (error) =>
          journal.notice('tensorboard', `some steps are missing in the event files: ${error}`),
      },
    )
    closers.add(sink.close)
  }

  const meta = restored && trainedMeta(restored.checkpoint.manifest.meta)
  // Adapters of older checkpoints began with values of their own.
  const isLineageKnown = !restored?.adapter || restored.state.headLineage === policy.lineage
  const heads = openHeads(
    { settings, isLineageKnown },
    {
      ...{ policy, tasks, journal, trainedOn, phases, now, after },
      ...{ random: Math.random, wake: changed.wake, swarm: () => swarm },
      mustWait: () => wishes.paused || limits.mustWait(),
      joined: meta?.joined,
      hasTeacher: hasTeacher(host),
      alarm: (message) => core?.alarm(message),
    },
  )

  // ── Core and checkpoints ────────────────────────────────────────────────
  const wishes: Wishes = { paused: false, stopping: false }
  const state = createNodeState({
    ...{ wishes, limits, events, phases },
    trouble: () => journal.trouble,
  })
  const rounds = await openRounds({ atLeast: restored?.state.rounds ?? 0 }, { database })
  closers.add(rounds.close)
  const parked = createParkedGroups()
  const { dropped } = restored?.parked ? parked.load(restored.parked) : {}
  if (dropped) log('warn', `interrupted rollouts of the checkpoint were dropped: ${dropped}`)
  const record = createTrainingRecord(
    { phases: meta?.phases },
    { facts: () => trainingFacts(settings(), { tasks }) },
  )
  const { isSaveDue, save, restore, rest } = createSaving({
    ...{
      monotonic,
      phases,
      models,
      policies,
      plugins: host,
      pool,
      parked,
      checkpoints,
      journal,
      record,
      heads,
      disk,
    },
    schedule: () => settings().checkpoint,
    isRestored: restored !== undefined,
    mayWrite: limits.mayWrite,
    rounds: () => rounds.count,
    learner: () => core?.learner.state(),
    headLineage: isLineageKnown ? policy.lineage : undefined,
  })
  const begun =
    !restored &&
    (await makeWarmStart(
      { config, phase: trainingFacts(config, { tasks }) },
      { policy, tasks, phases, log, random: randomStream(seed, 'warm start') },
    ))
  if (begun) {
    record.begin(begun)
    await save()
  }
  core = openCore(
    { settings, self, seed, restored: restored?.state.learner },
    {
      ...{ policy, plugins: host, pool, parked, journal, phases, roles },
      restore,
      isKnown: (author) => swarm?.isKnown(author) ?? false,
      nodes: () => heads.nodes,
    },
  )

  // ── Swarm ───────────────────────────────────────────────────────────────
  swarm = await phases.run('network', {}, () =>
    openNetwork(
      { settings, paths, invite },
      {
        ...{ identity, tasks, model, policy, plugins: host, core, journal, changed, log, closers, pool },
        ...{ clock: { now, after }, random: Math.random, isJoined: heads.isJoined },
      },
    ),
  )

  // ── Loops ───────────────────────────────────────────────────────────────
  const requests = createCheckpointRequests(save)
  const isHeld = (): boolean => wishes.paused || limits.isHeld
  const restTimer = createRestTimer({ isHeld, after, onDue: changed.wake })
  closers.add(restTimer.close)
  const loops = startLoops(
    { settings, self, seed },
    {
      ...{ core, policy, phases, plugins: host, tasks, swarm, journal, showcase, parked, changed },
      ...{ now, monotonic, sleep, save },
      ...{ isSaveDue, record, heads },
      nextRound: rounds.next,
      serveRequests: requests.serve,
      mustWait: () => wishes.paused || limits.mustWait(),
      async restIfDue() {
        if (restTimer.isDue) await rest()
      },
    },
  )
  closers.add(loops.end)

  // ── Agents, and whoever is served ───────────────────────────────────────
  const asked = { config, paths, model: nameForClients(found.name), conversation: models.plan.conversation }
  const clock = { now, monotonic, after, randomBytes }
  const serving = await openNodeServing(asked, { policy, closers, log: journal.log, ...clock })
  const agents = await openAgents(
    { ...asked, self, rows },
    {
      ...{ serving, core, policy, tasks, pool, journal, changed, closers, ...clock },
      isPaused: isHeld,
    },
  )

  // ── Control ─────────────────────────────────────────────────────────────
  const control = openControl(
    {
      settings,
      facts: {
        node,
        model: {
          name: found.name,
          title: models.base.title,
          path: found.directory,
          parameters: parameterCount(model.spec),
          maxCompletionTokens: config.model.max_completion_tokens,
        },
        secrets: secretFiles(config, paths),
        tasks: tasks.chosen.map(({ task, difficulty }) => ({
          ...{ name: task.name, difficulty },
          ...{ min: task.difficulty.min, max: task.difficulty.max },
        })),
      },
    },
    {
      ...{
        policy,
        plugins: host,
        tasks,
        swarm,
        journal,
        events,
        showcase,
        core,
        loops,
        wishes,
        state,
        changed,
      },
      ...{ requests, phases, after, save },
      agents: () => agents?.info(),
      serving: () => ((serving.url ?? agents?.url) === undefined ? undefined : serving.info()),
      trained: record.phases,
      heads,
      ...{ now, pool: () => pool.counts(), space, limits: limits.info, closeAll: closers.closeAll },
      reconfigure: createReconfigure(
        { config: live, file: paths.config, canMix: hasRoomToMix(models.plan) },
        { ...options, log, onChange: () => changed.wake() },
      ),
      finish,
    },
  )
  tellState = state.tell
  tellState()
  return control
}
