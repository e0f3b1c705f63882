// The composition root: opens every part of a node, joins them, starts the loops, and takes them down in reverse order.
// The only file that knows all parts, and the only one in the daemon that reads the clock and the machine.

import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { availableParallelism, homedir, hostname } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { CheckpointInfo } from '../protocol/api/index.ts'
import { EXIT, WaggleError } from '../protocol/errors.ts'
import { peerName } from '../protocol/text.ts'
import { loadTasks, PLUGINS } from './built-in.ts'
import { differenceOf, takeOn } from './config/live.ts'
import { createEventLog } from './control/event-log.ts'
import { createJournal } from './control/journal.ts'
import { createLogFile } from './control/log-file.ts'
import type { NodeHandle, RunNode } from './control/node.ts'
import { createNodeControl } from './control/node-control.ts'
import { startControlServer } from './control/server.ts'
import { createShowcase } from './control/showcase.ts'
import { parameterCount } from './engine/decoder.ts'
import type { Engine } from './engine/engine.ts'
import { createEngines } from './engine/select.ts'
import type { PluginTrouble } from './host/host.ts'
import { hash32, randomStream } from './host/random.ts'
import { optimizerOf, POOL_GROUPS, startLoops } from './loops.ts'
import { loadOtherModels, openHost, openRoleModel, rolesOf } from './node-plugins.ts'
import { codecOf } from './policy/codec.ts'
import { openPolicy } from './policy/live-policy.ts'
import { type MemoryPlan, memoryHere, planMemory, planText, wishOf } from './policy/memory-plan/index.ts'
import { loadModel } from './policy/model.ts'
import { bundledModel, findModel } from './policy/sources/find.ts'
import type { DownloadProgress } from './policy/sources/hub.ts'
import { trainedMeta } from './policy/trained.ts'
import { evaluatePolicy } from './rollout/evaluation-loop.ts'
import { createParkedGroups } from './rollout/parked.ts'
import { createPluginWorld } from './rollout/plugin-world.ts'
import { createTaskBook, sampleQuestions } from './rollout/tasks.ts'
import { createWaker } from './rollout/waker.ts'
import { createCheckpoints } from './store/checkpoints.ts'
import { openHome } from './store/home.ts'
import type { Log } from './store/log.ts'
import { nodeDisk as disk } from './store/node-disk.ts'
import { createPool } from './store/pool.ts'
import { createStepSeries } from './store/records.ts'
import { loadIdentity, openSwarm } from './swarm/index.ts'
import { swarmOptions } from './swarm-config.ts'
import { createCheckpointRequests } from './trainer/checkpoint-requests.ts'
import { type Restored, restoreBefore, restoreNode, restoreRole, saveNode } from './trainer/checkpointing.ts'
import type { Learner } from './trainer/learner.ts'
import type { Role } from './trainer/roles.ts'

const VERSION = '0.1.0'

const now = Date.now
const monotonic = (): number => performance.now()
const sleep = (ms: number, signal: AbortSignal): Promise<void> => sleepFor(ms, undefined, { signal })

export const runNode: RunNode = async ({ config, readConfig, paths, invite, signal, onProgress }) => {
  const started = now()
  const events = createEventLog({}, { clock: now })
  const log: Log = (level, message, data) => {
    events.emit({ type: 'log', level, area: 'node', message, ...(data ? { data } : {}) })
  }
  /** What has been opened, to be closed in reverse order. */
  const closers: (() => Promise<unknown>)[] = []
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) {
      await close().catch((error: unknown) => log('error', `closing: ${messageOf(error)}`))
    }
  }

  /** libp2p can throw this from a timer when a peer goes at the wrong moment (js-libp2p #3415); it harms nothing. */
  const surviveStreamErrors = (error: Error): void => {
    if (error.name === 'StreamStateError') {
      log('warn', `the network library: ${error.message}`)
      return
    }
    process.off('uncaughtException', surviveStreamErrors)
    throw error
  }
  process.on('uncaughtException', surviveStreamErrors)
  closers.push(async () => {
    process.off('uncaughtException', surviveStreamErrors)
  })

  try {
    // ── Home, identity, store ───────────────────────────────────────────────
    const home = await openHome(
      { directory: paths.state, store: paths.store, lock: paths.lock },
      { disk, clock: now, log, self: { pid: process.pid, host: hostname() } },
    )
    closers.push(() => home.release())
    const logFile = createLogFile({ path: paths.logFile }, { events })
    closers.push(() => logFile.close())
    const identity = await loadIdentity({ path: paths.identity })
    const self = identity.peerId
    const seed = config.node.seed ?? hash32(0, self)
    const { database } = home
    const pool = await createPool({ capacityGroups: POOL_GROUPS }, { database, log })
    const steps = createStepSeries({ name: 'step' }, { database })
    const evaluations = createStepSeries({ name: 'eval' }, { database })
    closers.push(() => pool.flush())

    // ── Tasks and plugins: what does not fit together is told before anything is loaded ─
    const known = await loadTasks(config.tasks)
    const tasks = createTaskBook(known, config.tasks)
    // The journal comes later; until then the log takes what there is to say.
    let tellTrouble = ({ name, message }: PluginTrouble): void => log('warn', `${name}: ${message}`)
    const host = await openHost(
      { config, seed, tasks: known, paths },
      { builtIn: PLUGINS, now: monotonic, sleep, log, onTrouble: (trouble) => tellTrouble(trouble) },
    )
    closers.push(host.close)
    const roleWishes = rolesOf(host, config)

    // ── Model, engines, policy ──────────────────────────────────────────────
    const checkpoints = await createCheckpoints(
      { directory: paths.checkpoints, keep: config.checkpoint.keep },
      { disk, clock: now, log },
    )
    const latest = await checkpoints.latest()
    const find = (reference: string) =>
      findModel(
        {
          reference,
          bundled: bundledModel(packageRoot()),
          base: dirname(paths.config),
          env: process.env,
          homedir: homedir(),
          signal,
          onProgress: eachTenth((percent) => onProgress({ message: `fetching ${reference}: ${percent} %` })),
        },
        { disk, fetch, sleep: (ms, until) => sleep(ms, until ?? signal), freeBytes },
      )
    const found = await find(config.model.path)
    onProgress({ message: `loading the model ${found.directory}` })
    const others = await loadOtherModels(roleWishes, config, find)
    let plan: MemoryPlan | undefined
    const model = await loadModel(found.directory, { disk }, ({ spec, tokenizer }) => {
      const wish = wishOf({
        config,
        questions: sampleQuestions(known, config.tasks),
        tokenizer,
        checkpoint: latest && trainedMeta(latest.manifest.meta),
        memory: memoryHere(),
        roles: roleWishes.filter((role) => role.model === undefined).length,
        taken: others.reduce((sum, { bytes }) => sum + bytes, 0),
      })
      plan = planMemory(found.name, spec, wish)
    })
    const { adapter, microBatchTokens, checkpointing, slots } = plan!
    log('info', planText(plan!))
    signal.throwIfAborted()
    const restored = await restoreNode({ lineage: model.digest, spec: model.spec }, { checkpoints, disk })
    if (restored) {
      onProgress({ message: `continuing at step ${restored.state.version}` })
      await steps.truncate(restored.state.version + 1)
      await evaluations.truncate(restored.state.version + 1)
    }
    const threads = Math.max(1, Math.floor((config.engine.threads || availableParallelism()) / 2))
    // The journal comes later; until then the log takes what an engine has to say.
    let notice = (message: string): void => log('warn', `engine: ${message}`)
    const [sampler, trainer, ...roleEngines] = (await createEngines(
      { ...config.engine, threads, microBatchTokens, checkpointing },
      2 + roleWishes.length,
      {
        onNotice: (message) => notice(message),
      },
    )) as [Engine, Engine, ...Engine[]]
    log('info', `engine: ${trainer.info.kind} on ${trainer.info.device} (${trainer.info.reason})`)
    const policy = await openPolicy(
      {
        model,
        adapter,
        state: restored?.policy,
        slots,
        isInFlight: config.rollout.in_flight_weights,
        stopStrings: host.writes,
      },
      { sampler, trainer, random: randomStream(seed, 'adapter') },
    )
    closers.push(() => policy.close())
    const roles = new Map<string, Role>()
    const restoreTo = (from: Restored | undefined) => async (role: Pick<Role, 'name' | 'model' | 'spec'>) =>
      from &&
      restoreRole(from, role, { disk }).catch((error: unknown) => {
        log('warn', `the ${role.name} begins anew: ${messageOf(error)}`)
        return undefined
      })
    for (const [i, wish] of roleWishes.entries()) {
      const engine = roleEngines[i]!
      const own = others.find(({ role }) => role === wish.name)?.model ?? model
      const optimizer = optimizerOf(config)
      roles.set(
        wish.name,
        await openRoleModel(wish, {
          engine,
          model: own,
          adapter,
          optimizer,
          seed,
          restore: restoreTo(restored),
        }),
      )
      closers.push(() => engine.close())
    }

    // ── What is told about it all ───────────────────────────────────────────
    const showcase = createShowcase({}, tasks)
    const journal = await createJournal(
      { training: config.training, logFile: paths.logFile },
      { events, showcase, steps, evaluations, now },
    )
    notice = (message) => journal.notice('engine', message)
    tellTrouble = journal.plugin
    const { telemetry } = journal
    Object.assign(telemetry.counters, restored?.state.counters)
    if (restored) telemetry.checkpoint(checkpointInfo(restored.checkpoint))

    await host.open(
      createPluginWorld(
        {
          limits: { context: model.spec.contextLength, completion: config.model.max_completion_tokens },
        },
        {
          tasks,
          policy: { engine: policy.sampler, tokenizer: model.tokenizer },
          roles,
        },
      ),
      policy.reference().version,
      restored?.plugins,
    )

    // ── Swarm ───────────────────────────────────────────────────────────────
    const changed = createWaker()
    if (config.swarm.enabled) onProgress({ message: 'starting the network' })
    const opened = config.swarm.enabled
      ? await openSwarm(
          {
            tasks: known.map(({ name, version }) => ({ name, version })),
            ...swarmOptions(config, paths),
            invite,
          },
          {
            identity,
            clock: {
              now,
              after(ms, run) {
                const timer = setTimeout(run, ms)
                return () => clearTimeout(timer)
              },
            },
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
            random: Math.random,
          },
        )
      : undefined
    if (opened) closers.push(opened.close)
    const swarm = opened?.swarm

    // ── Checkpoints ─────────────────────────────────────────────────────────
    let rounds = restored?.state.rounds ?? 0
    const parked = createParkedGroups()
    if (restored?.parked !== undefined) parked.load(restored.parked)
    let learner: Learner | undefined
    const save = async (): Promise<CheckpointInfo> => {
      const { version, lineage } = policy.reference()
      // A database that cannot be written now is tried again by itself, and is no reason to do without a checkpoint.
      await pool.flush().then(() => journal.recover('store'), journal.fail('store'))
      const saved = await saveNode(
        {
          version,
          lineage,
          rounds,
          counters: { ...telemetry.counters },
          learner: learner?.state(),
          plugins: await host.save(),
          parked: parked.save(),
          roles: [...roles.values()].filter(({ trainable }) => trainable),
          spec: policy.spec,
          base: found,
        },
        { trainer, checkpoints },
      )
      const info = checkpointInfo(saved)
      journal.checkpoint(info)
      return info
    }
    const requests = createCheckpointRequests(save)

    // ── Loops ───────────────────────────────────────────────────────────────
    let paused = false
    let stopping = false
    /** Settings that were changed while it runs. */
    const laidOver: Record<string, string> = {}
    const loops = startLoops(
      { config, self, seed },
      {
        policy,
        host,
        tasks,
        pool,
        swarm,
        journal,
        showcase,
        parked,
        changed,
        now,
        monotonic,
        sleep,
        nextRound: () => rounds++,
        save,
        restored: restored?.state.learner,
        roles,
        async restore(before) {
          const ids = { lineage: model.digest, spec: model.spec }
          const earlier = await restoreBefore(before, ids, { checkpoints, disk })
          await policy.goBack(earlier?.policy)
          await host.restore(policy.reference().version, earlier?.plugins ?? [])
          for (const role of roles.values()) await role.goBack(await restoreTo(earlier)(role))
          return { step: earlier?.state.version ?? 0 }
        },
        serveRequests: requests.serve,
        isPaused: () => paused,
      },
    )
    learner = loops.learner
    closers.push(loops.end)

    // ── Control ─────────────────────────────────────────────────────────────
    let diskFreeBytes: number | undefined
    const lookAtDisk = async (): Promise<void> => {
      diskFreeBytes = await freeBytes(paths.state)
    }
    await lookAtDisk()
    const diskTimer = setInterval(lookAtDisk, 30_000)
    diskTimer.unref()
    closers.push(async () => clearInterval(diskTimer))

    const control = createNodeControl(
      {
        node: {
          name: config.node.name ?? peerName(self),
          peerId: self,
          version: VERSION,
          pid: process.pid,
          startedAt: started,
          home: {
            config: paths.config,
            state: paths.state,
            checkpoints: paths.checkpoints,
            logs: paths.logs,
            socket: paths.socket,
          },
        },
        model: {
          name: found.name,
          path: found.directory,
          parameters: parameterCount(model.spec),
          maxCompletionTokens: config.model.max_completion_tokens,
        },
      },
      {
        policy,
        host,
        swarm,
        telemetry,
        events,
        showcase,
        pool: () => pool.counts(),
        sharing: () => loops.learner.sharing(),
        now,
        state: () => {
          if (stopping) return { state: 'STOPPING' }
          if (paused) return { state: 'PAUSED' }
          if (journal.trouble !== undefined) return { state: 'DEGRADED', detail: journal.trouble }
          return policy.reference().version === 0 ? { state: 'GENERATING' } : { state: 'TRAINING' }
        },
        diskFree: () => diskFreeBytes,
        reconfigure(settings) {
          const next = readConfig({ ...laidOver, ...settings })
          const fixed = differenceOf(config, next).restart.filter(({ path }) => path in settings)
          if (fixed.length > 0) {
            throw new WaggleError(
              'E_CONFIG',
              `${fixed.map(({ path }) => path).join(', ')} cannot change while the node runs`,
              {
                hint: `Nothing was changed. Put it into ${paths.config} and \`waggle restart\`; \`waggle help config\` marks what can change.`,
              },
            )
          }
          Object.assign(laidOver, settings)
          const { live, restart } = takeOn(config, next)
          for (const { path, from, to } of live)
            log('info', `${path} is ${JSON.stringify(to)} now, was ${JSON.stringify(from)}`)
          changed.wake()
          return { changed: live, restart: restart.map(({ path }) => path) }
        },
        setPaused(value) {
          paused = value
          events.emit({ type: 'state', state: value ? 'PAUSED' : 'TRAINING' })
          changed.wake()
        },
        async evaluate({ tasks: names, promptsPerTask, samples, plugins = false }, evaluateSignal) {
          const step = policy.reference().version
          const acting = plugins ? await host.evaluation({ step }) : undefined
          const found = await evaluatePolicy(
            {
              promptsPerTask: promptsPerTask ?? config.eval.prompts_per_task,
              maxNewTokens: config.model.max_completion_tokens,
              ...(names ? { tasks: names } : {}),
              ...(samples === undefined ? {} : { samples }),
              ...(evaluateSignal ? { signal: evaluateSignal } : {}),
            },
            { policy, tasks, now, compose: acting?.compose },
          )
          return { ...found, plugins }
        },
        checkpoint() {
          const made = requests.request()
          changed.wake()
          return made
        },
        async stop({ checkpoint }) {
          stopping = true
          events.emit({ type: 'state', state: 'STOPPING' })
          await loops.end()
          requests.refuse(new WaggleError('E_CONTROL', 'the node is stopping'))
          // A checkpoint that cannot be made is no reason to stay: the one before it is still there.
          const failed = checkpoint ? await save().then(() => undefined, asError) : undefined
          await closeAll()
          setImmediate(() => finish(failed ? EXIT.unexpected : EXIT.ok))
          if (failed) throw failed
        },
      },
    )
    const server = await startControlServer(
      {
        socket: paths.socket,
        run: randomUUID(),
        tcp: config.control.listen
          ? {
              listen: config.control.listen,
              public: config.control.public,
              readTokenFile: paths.readToken,
              adminTokenFile: paths.adminToken,
            }
          : undefined,
      },
      { node: control, clock: now },
    )

    let resolveStopped: (status: number) => void
    let rejectStopped: (error: unknown) => void
    const whenStopped = new Promise<number>((resolve, reject) => {
      resolveStopped = resolve
      rejectStopped = reject
    })
    // The answer to `stop` travels over the server, so that is closed last.
    const finish = (status: number): void => {
      server.close().then(() => resolveStopped(status), rejectStopped)
    }
    events.emit({ type: 'state', state: restored ? 'TRAINING' : 'GENERATING' })
    return { ...control, whenStopped } satisfies NodeHandle
  } catch (error) {
    await closeAll()
    throw error
  }
}

function checkpointInfo({
  manifest,
  directory,
}: {
  manifest: { step: number; savedAt: number }
  directory: string
}): CheckpointInfo {
  return { step: manifest.step, time: manifest.savedAt, path: directory }
}

async function freeBytes(path: string): Promise<number | undefined> {
  const facts = await statfs(path).catch(() => undefined)
  return facts && facts.bavail * facts.bsize
}

/** A line for every tenth of a download. */
function eachTenth(tell: (percent: number) => void): (progress: DownloadProgress) => void {
  let told = 0
  return ({ done, total }) => {
    const percent = Math.floor((10 * done) / Math.max(1, total)) * 10
    if (percent <= told) return
    told = percent
    tell(percent)
  }
}

function packageRoot(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  // Sources are in daemon/, the published build in dist/daemon/.
  return import.meta.url.endsWith('.ts') ? dirname(here) : dirname(dirname(here))
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
