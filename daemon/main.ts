// The composition root: opens every part of a node, joins them, starts the loops, and takes them down in reverse order.
// What each part takes is in node/; only here does the daemon read the clock, chance and the machine.

import { randomUUID } from 'node:crypto'
import { availableParallelism, homedir, hostname } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { loadTasks, PLUGINS } from './built-in.ts'
import { createJournal } from './control/journal.ts'
import type { RunNode } from './control/node.ts'
import { createShowcase } from './control/showcase.ts'
import { parameterCount } from './engine/decoder.ts'
import type { PluginTrouble } from './host/host.ts'
import { hash32 } from './host/random.ts'
import { POOL_GROUPS, startLoops } from './loops.ts'
import { beginNode } from './node/begin.ts'
import { openControl, type Wishes } from './node/control.ts'
import { watchDiskSpace } from './node/disk-space.ts'
import { nodeFacts } from './node/facts.ts'
import { openNodeHome } from './node/home.ts'
import { openModels } from './node/models.ts'
import { openNetwork } from './node/network.ts'
import { openPolicies } from './node/policy.ts'
import { createReconfigure } from './node/reconfigure.ts'
import { checkpointInfo, createSaving } from './node/saving.ts'
import { type Served, serveControl } from './node/serve.ts'
import { surviveStreamErrors } from './node/stream-errors.ts'
import { openHost, rolesOf } from './node-plugins.ts'
import { bundledModel } from './policy/sources/find.ts'
import { createParkedGroups } from './rollout/parked.ts'
import { createPluginWorld } from './rollout/plugin-world.ts'
import { createTaskBook } from './rollout/tasks.ts'
import { createWaker } from './rollout/waker.ts'
import { createCheckpoints } from './store/checkpoints.ts'
import { nodeDisk as disk } from './store/node-disk.ts'
import { createPool } from './store/pool.ts'
import { createStepSeries } from './store/records.ts'
import { createCheckpointRequests } from './trainer/checkpoint-requests.ts'
import { restoreNode } from './trainer/checkpointing.ts'
import type { Learner } from './trainer/learner.ts'

const now = Date.now
const monotonic = (): number => performance.now()
const sleep = (ms: number, signal: AbortSignal): Promise<void> => sleepFor(ms, undefined, { signal })
const after = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

export const runNode: RunNode = async ({ config, readConfig, paths, invite, signal, onProgress }) => {
  const startedAt = now()
  const begun = beginNode({ area: 'node' }, { now })
  const { events, log, closers } = begun
  const tell = (message: string): void => onProgress({ message })
  // The journal comes later; until then the log takes what plugins and engines have to say.
  let tellTrouble = ({ name, message }: PluginTrouble): void => log('warn', `${name}: ${message}`)
  let notice = (message: string): void => log('warn', `engine: ${message}`)
  closers.add(surviveStreamErrors({ log }))

  try {
    // ── Home, identity, store ───────────────────────────────────────────────
    const { home, identity } = await openNodeHome(
      { paths, pid: process.pid, host: hostname() },
      { ...begun, now },
    )
    const self = identity.peerId
    const seed = config.node.seed ?? hash32(0, self)
    const { database } = home
    const pool = await createPool({ capacityGroups: POOL_GROUPS }, { database, log })
    const steps = createStepSeries({ name: 'step' }, { database })
    const evaluations = createStepSeries({ name: 'eval' }, { database })
    closers.add(() => pool.flush())

    // ── Tasks and plugins: what does not fit together is told before anything is loaded ─
    const known = await loadTasks(config.tasks)
    const tasks = createTaskBook(known, config.tasks)
    const host = await openHost(
      { config, seed, tasks: known, paths },
      { builtIn: PLUGINS, now: monotonic, sleep, log, onTrouble: (trouble) => tellTrouble(trouble) },
    )
    closers.add(host.close)
    const wished = rolesOf(host, config)

    // ── Model, checkpoint, policy ───────────────────────────────────────────
    const checkpoints = await createCheckpoints(
      { directory: paths.checkpoints, keep: config.checkpoint.keep },
      { disk, clock: now, log },
    )
    const models = await openModels(
      {
        ...{ config, paths, tasks: known, roles: wished, latest: await checkpoints.latest() },
        ...{ bundled: bundledModel(packageRoot()), env: process.env, homedir: homedir() },
      },
      { log, signal, tell, fetch, sleep },
    )
    const { model, found } = models
    signal.throwIfAborted()
    const restored = await restoreNode({ lineage: model.digest, spec: model.spec }, { checkpoints, disk })
    if (restored) {
      tell(`continuing at step ${restored.state.version}`)
      await steps.truncate(restored.state.version + 1)
      await evaluations.truncate(restored.state.version + 1)
    }
    const policies = await openPolicies(
      {
        ...{ config, seed, models, roles: wished, restored },
        ...{ stopStrings: host.writes, cores: availableParallelism() },
      },
      { log, closers, onNotice: (message) => notice(message) },
    )
    const { policy, roles } = policies

    // ── What is told about it all ───────────────────────────────────────────
    const showcase = createShowcase({}, tasks)
    const journal = await createJournal(
      { training: config.training, logFile: paths.logFile },
      { events, showcase, steps, evaluations, now },
    )
    notice = (message) => journal.notice('engine', message)
    tellTrouble = journal.plugin
    Object.assign(journal.telemetry.counters, restored?.state.counters)
    if (restored) journal.telemetry.checkpoint(checkpointInfo(restored.checkpoint))

    await host.open(
      createPluginWorld(
        { limits: { context: model.spec.contextLength, completion: config.model.max_completion_tokens } },
        { tasks, policy: { engine: policy.sampler, tokenizer: model.tokenizer }, roles },
      ),
      policy.reference().version,
      restored?.plugins,
    )

    // ── Swarm ───────────────────────────────────────────────────────────────
    const changed = createWaker()
    if (config.swarm.enabled) tell('starting the network')
    const swarm = await openNetwork(
      { config, paths, invite, known },
      {
        ...{ identity, tasks, model, policy, host, pool, journal, changed, log, closers },
        ...{ clock: { now, after }, random: Math.random },
      },
    )

    // ── Checkpoints and loops ───────────────────────────────────────────────
    const wishes: Wishes = { paused: false, stopping: false }
    let rounds = restored?.state.rounds ?? 0
    const parked = createParkedGroups()
    if (restored?.parked !== undefined) parked.load(restored.parked)
    let learner: Learner | undefined
    const { save, restore } = createSaving({
      ...{ models, policies, host, pool, parked, checkpoints, journal },
      rounds: () => rounds,
      learner: () => learner?.state(),
    })
    const requests = createCheckpointRequests(save)
    const loops = startLoops(
      { config, self, seed },
      {
        ...{ policy, host, tasks, pool, swarm, journal, showcase, parked, changed, roles },
        ...{ now, monotonic, sleep, save, restore },
        nextRound: () => rounds++,
        restored: restored?.state.learner,
        serveRequests: requests.serve,
        isPaused: () => wishes.paused,
      },
    )
    learner = loops.learner
    closers.add(loops.end)

    // ── Control ─────────────────────────────────────────────────────────────
    const space = await watchDiskSpace(paths.state)
    closers.add(space.close)
    const control = openControl(
      {
        config,
        facts: {
          node: nodeFacts({ name: config.node.name, peerId: self, pid: process.pid, startedAt, paths }),
          model: {
            name: found.name,
            path: found.directory,
            parameters: parameterCount(model.spec),
            maxCompletionTokens: config.model.max_completion_tokens,
          },
        },
      },
      {
        ...{ policy, host, tasks, swarm, journal, events, showcase, loops, wishes, changed, requests, save },
        ...{ now, pool: () => pool.counts(), diskFree: space.free, closeAll: closers.closeAll },
        reconfigure: createReconfigure(
          { config, file: paths.config },
          { readConfig, log, onChange: () => changed.wake() },
        ),
        finish: (status) => served.finish(status),
      },
    )
    const served: Served = await serveControl(
      { paths, control: config.control, run: randomUUID() },
      { node: control, now },
    )
    events.emit({ type: 'state', state: restored ? 'TRAINING' : 'GENERATING' })
    return served.handle
  } catch (error) {
    await closers.closeAll()
    throw error
  }
}

function packageRoot(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  // Sources are in daemon/, the published build in dist/daemon/.
  return import.meta.url.endsWith('.ts') ? dirname(here) : dirname(dirname(here))
}
