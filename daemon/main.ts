// The composition root: opens every part of a node, joins them, starts the loops, and takes them down in reverse order.
// The only file that knows all parts, and the only one in the daemon that reads the clock and the machine.

import { randomUUID } from 'node:crypto'
import { readFile, statfs } from 'node:fs/promises'
import { availableParallelism, hostname } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { CheckpointInfo, LogLevel } from '../protocol/api/index.ts'
import { WaggleError } from '../protocol/errors.ts'
import { peerName } from '../protocol/text.ts'
import { type Group, hasSignal } from '../protocol/train/index.ts'
import { PLUGINS, TASKS } from './built-in.ts'
import { createEventLog } from './control/event-log.ts'
import { createLogFile } from './control/log-file.ts'
import type { NodeHandle, RunNode } from './control/node.ts'
import { createNodeControl } from './control/node-control.ts'
import { startControlServer } from './control/server.ts'
import { createShowcase } from './control/showcase.ts'
import { createTelemetry } from './control/telemetry.ts'
import { parameterCount } from './engine/decoder.ts'
import { createOnnxEngine } from './engine/onnx/index.ts'
import { createHost } from './host/host.ts'
import { hash32, randomStream } from './host/random.ts'
import { codecOf } from './policy/codec.ts'
import { openPolicy } from './policy/live-policy.ts'
import { loadModel } from './policy/model.ts'
import { evaluatePolicy, runEvaluationLoop } from './rollout/evaluation-loop.ts'
import { runRolloutLoop } from './rollout/loop.ts'
import { createTaskBook } from './rollout/tasks.ts'
import { createWaker } from './rollout/waker.ts'
import { createCheckpoints } from './store/checkpoints.ts'
import { openHome } from './store/home.ts'
import { nodeDisk as disk } from './store/node-disk.ts'
import { createPool } from './store/pool.ts'
import { createStepSeries } from './store/records.ts'
import { createSwarm, draftOf, loadIdentity, openPeerDatastore, parsePsk } from './swarm/index.ts'
import { restoreNode, saveNode } from './trainer/checkpointing.ts'
import { runTrainLoop, type StepReport } from './trainer/loop.ts'

const VERSION = '0.1.0'
const POOL_GROUPS = 512

const now = Date.now
const monotonic = (): number => performance.now()
const sleep = (ms: number, signal: AbortSignal): Promise<void> => sleepFor(ms, undefined, { signal })

export const runNode: RunNode = async ({ config, paths, signal, onProgress }) => {
  const started = now()
  const events = createEventLog({}, { clock: now })
  const log = (level: LogLevel, message: string, data?: Record<string, unknown>): void => {
    events.emit({ type: 'log', level, area: 'node', message, ...(data ? { data } : {}) })
  }
  /** What has been opened, to be closed in reverse order. */
  const closers: (() => Promise<unknown>)[] = []
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) {
      await close().catch((error: unknown) => log('error', `closing: ${messageOf(error)}`))
    }
  }

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

    // ── Model, engines, policy ──────────────────────────────────────────────
    const modelPath =
      config.model.path === 'default'
        ? join(packageRoot(), 'models', 'default')
        : resolve(dirname(paths.config), config.model.path)
    onProgress({ message: `loading the model ${modelPath}` })
    const model = await loadModel(modelPath, { disk })
    signal.throwIfAborted()
    const checkpoints = await createCheckpoints(
      { directory: paths.checkpoints, keep: config.checkpoint.keep },
      { disk, clock: now, log },
    )
    const restored = await restoreNode({ lineage: model.digest, spec: model.spec }, { checkpoints, disk })
    if (restored) {
      onProgress({ message: `continuing at step ${restored.state.version}` })
      await steps.truncate(restored.state.version + 1)
      await evaluations.truncate(restored.state.version + 1)
    }
    const threads = Math.max(1, Math.floor((config.engine.threads || availableParallelism()) / 2))
    const sampler = createOnnxEngine({ threads })
    const trainer = createOnnxEngine({ threads })
    const policy = await openPolicy({ model, state: restored?.policy }, { sampler, trainer })
    closers.push(() => policy.close())

    // ── Tasks and plugins ───────────────────────────────────────────────────
    const tasks = createTaskBook(TASKS, config.tasks)
    const showcase = createShowcase({}, tasks)
    const host = await createHost(
      {
        estimator: config.estimator,
        corrections: [...config.corrections, { use: 'staleness', bound: config.training.max_staleness }],
        selector: config.selector ?? { use: 'uniform' },
        seed,
      },
      {
        builtIn: PLUGINS,
        importPlugin: async (specifier) => {
          const isFile = specifier.startsWith('.') || isAbsolute(specifier)
          const module = await import(
            isFile ? pathToFileURL(resolve(dirname(paths.config), specifier)).href : specifier
          )
          return (module as { default?: unknown }).default
        },
        now: monotonic,
        sleep,
        log,
        onTrouble({ kind, name, hook, message, switchedOff }) {
          const text = `${hook}: ${message}`
          events.emit({ type: 'plugin', kind, name, state: switchedOff ? 'off' : 'slow', message: text })
          telemetry.alert({
            level: 'warning',
            key: `plugin/${name}`,
            message: `plugin ${name} ${switchedOff ? 'is off' : 'failed'}: ${text}`,
          })
        },
      },
    )

    // ── What happened before and what happens now ───────────────────────────
    const past = await evaluations.newest(64)
    const telemetry = createTelemetry(
      {
        rewards: (await steps.newest(240)).map(({ step, record }) => [
          Number(record.time),
          step,
          Number(record.reward),
        ]),
        evaluations: past.map(({ record }) => JSON.parse(String(record.evaluation))),
      },
      { now },
    )
    Object.assign(telemetry.counters, restored?.state.counters)
    let rounds = restored?.state.rounds ?? 0
    if (restored) telemetry.checkpoint(checkpointInfo(restored.checkpoint))
    let paused = false
    let phase: 'running' | 'stopping' = 'running'
    /** What does not work, by area. */
    const troubles = new Map<string, string>()
    const changed = createWaker()
    const fail = (area: string) => (error: unknown) => {
      const message = `${area}: ${messageOf(error)}`
      if (troubles.get(area) !== message) log('error', message)
      troubles.set(area, message)
      telemetry.alert({ level: 'failure', key: area, message, action: `see ${paths.logFile}` })
    }
    const recover = (area: string): void => {
      if (troubles.delete(area)) telemetry.clearAlert(area)
    }

    // ── Swarm ───────────────────────────────────────────────────────────────
    const onForeign = (group: Group): void => {
      if (pool.add(group, 'foreign')) changed.wake()
      emitGroup(group, 'foreign')
    }
    const emitGroup = (group: Group, origin: 'own' | 'foreign'): void => {
      showcase.add(group, origin)
      const { prompt, author, rollouts, arm } = group
      events.emit({
        type: 'group',
        id: group.id,
        origin,
        author,
        task: prompt.task,
        seed: prompt.seed,
        difficulty: prompt.difficulty,
        version: group.policy.version,
        rewards: rollouts.map(({ reward }) => reward),
        arm,
      })
    }
    const psk = config.swarm.key_file
      ? parsePsk(
          await readFile(resolve(dirname(paths.config), config.swarm.key_file), 'utf8').catch(unreadableKey),
        )
      : undefined
    const swarm = config.swarm.enabled
      ? await createSwarm(
          {
            swarm: config.swarm.name,
            ...(psk ? { psk } : {}),
            listen: config.swarm.listen,
            announce: config.swarm.announce,
            bootstrap: config.swarm.bootstrap,
            mdns: config.swarm.mdns,
            maxCompletionTokens: config.model.max_completion_tokens,
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
            codec: codecOf(model.tokenizer, model.spec.vocabulary),
            version: () => policy.reference().version,
            onEvent(event) {
              if (event.type === 'group') onForeign(event.group)
              else if (event.type === 'notice') telemetry.alert({ level: 'notice', ...event })
              else events.emit(event)
            },
            random: Math.random,
            datastore: await openPeers(join(paths.state, 'peers'), closers),
          },
        )
      : undefined
    if (swarm) {
      onProgress({ message: 'starting the network' })
      await swarm.start()
      closers.push(() => swarm.stop())
    }

    // ── Checkpoints ─────────────────────────────────────────────────────────
    const save = async (): Promise<CheckpointInfo> => {
      const { version, lineage } = policy.reference()
      // A database that cannot be written now is tried again by itself, and is no reason to do without a checkpoint.
      await pool.flush().then(() => recover('store'), fail('store'))
      const saved = await saveNode(
        { version, lineage, rounds, counters: { ...telemetry.counters }, spec: model.spec },
        { trainer, checkpoints },
      )
      const info = checkpointInfo(saved)
      telemetry.checkpoint(info)
      events.emit({ type: 'checkpoint', ...info })
      return info
    }
    /** Asked for from outside: made between two steps, by the train loop. */
    let asked: { resolve(info: CheckpointInfo): void; reject(error: unknown): void }[] = []
    const answerAsked = async (): Promise<void> => {
      const waiting = asked.splice(0)
      if (waiting.length === 0) return
      await save().then(
        (info) => {
          for (const { resolve } of waiting) resolve(info)
        },
        (error) => {
          for (const { reject } of waiting) reject(error)
        },
      )
    }

    // ── Loops ───────────────────────────────────────────────────────────────
    const stopLoops = new AbortController()
    const { signal: running } = stopLoops
    const waitingFor = (origin: 'own' | 'foreign'): Group[] =>
      pool
        .select({
          origin,
          count: POOL_GROUPS,
          order: 'newest',
          where: ({ group, uses }) => uses === 0 && hasSignal(group),
        })
        .map(({ group }) => group)
    const onStep = async (report: StepReport): Promise<void> => {
      recover('training')
      const clipped = Object.entries(report.metrics).filter(([name]) => /\.clip_(low|high|dual)$/.test(name))
      const facts = {
        ...report,
        ...report.watched,
        clippedShare: clipped.reduce((sum, [, value]) => sum + value, 0),
      }
      telemetry.step(facts, config.training.learning_rate)
      for (const author of report.authors) if (author !== self) swarm?.used(author)
      if (report.skipped.length > 0) {
        telemetry.alert({
          level: 'warning',
          key: 'non-finite',
          message: `step ${report.step}: not applied, ${report.skipped[0]} was not finite`,
        })
      }
      const metrics: Record<string, number> = {
        ...report.metrics,
        ...report.pluginMetrics,
        ...report.watched,
        loss: report.loss,
        gradient_norm: report.gradientNorm,
        own_groups: report.own,
        foreign_groups: report.foreign,
        train_seconds: report.seconds,
        wait_seconds: report.waitSeconds,
        real_tokens: report.realTokens,
        computed_tokens: report.computedTokens,
      }
      const { reward } = telemetry.training(report.step)
      if (reward !== undefined) metrics.reward = reward
      events.emit({ type: 'step', step: report.step, version: report.step, metrics })
      steps.append(report.step, { time: now(), ...metrics })
      pool.evict(
        ({ uses, group }) => uses > 0 || report.step - group.bornVersion > config.training.max_staleness,
      )
      if (report.step % config.checkpoint.every_steps < config.training.minibatches) {
        await save().then(() => recover('checkpoint'), fail('checkpoint'))
      }
      await answerAsked()
    }
    const loops = [
      runRolloutLoop(
        {
          groupSize: config.rollout.group_size,
          groupsPerRound: config.rollout.groups_per_round,
          temperature: config.rollout.temperature,
          maxNewTokens: config.model.max_completion_tokens,
          maxWaiting: 2 * config.training.own_groups,
          author: self,
        },
        {
          policy,
          host,
          tasks,
          waiting: () => waitingFor('own').length,
          changed,
          isPaused: () => paused,
          roundRandom: () => randomStream(seed, `round/${rounds++}`),
          now,
          monotonic,
          sleep,
          async onGroup(group) {
            telemetry.ownGroup(group)
            emitGroup(group, 'own')
            if (!hasSignal(group)) return
            if (pool.add(group, 'own')) changed.wake()
            if (!swarm) return
            await swarm.publish(draftOf(group)).then(
              () => {
                telemetry.counters.published += 1
              },
              (error: unknown) => log('debug', `a group was not published: ${messageOf(error)}`),
            )
          },
          onRound: (round) => {
            telemetry.round(round)
            recover('sampling')
          },
          onError: fail('sampling'),
        },
        running,
      ),
      runTrainLoop(
        {
          sizes: { own: config.training.own_groups, foreign: config.training.foreign_groups },
          minibatches: config.training.minibatches,
          warmUpSteps: config.training.warm_up_steps,
          temperature: config.rollout.temperature,
          optimizer: {
            learningRate: config.training.learning_rate,
            beta1: 0.9,
            beta2: 0.99,
            epsilon: 1e-8,
            weightDecay: config.training.weight_decay,
            maxGradientNorm: config.training.max_gradient_norm,
          },
          self,
        },
        {
          policy,
          host,
          waiting: () => ({ own: waitingFor('own'), foreign: waitingFor('foreign') }),
          take(groups) {
            const ids = groups.map(({ id }) => id)
            showcase.used(ids)
            return pool.markUsed(ids, policy.reference().version)
          },
          changed,
          isPaused: () => paused,
          random: (stream) => randomStream(seed, stream),
          monotonic,
          sleep,
          onStep,
          onIdle: answerAsked,
          onError: fail('training'),
        },
        running,
      ),
    ]
    if (config.eval.every_seconds > 0) {
      loops.push(
        runEvaluationLoop(
          {
            everySeconds: config.eval.every_seconds,
            promptsPerTask: config.eval.prompts_per_task,
            maxNewTokens: config.model.max_completion_tokens,
          },
          {
            policy,
            tasks,
            now,
            isPaused: () => paused,
            sleep,
            onEvaluation(evaluation) {
              telemetry.evaluation(evaluation)
              evaluations.append(evaluation.step, { evaluation: JSON.stringify(evaluation) })
              events.emit({ type: 'eval', ...evaluation })
            },
            onError: fail('evaluation'),
          },
          running,
        ),
      )
    }

    const endLoops = async (): Promise<void> => {
      stopLoops.abort()
      await Promise.allSettled(loops)
    }
    closers.push(endLoops)

    // ── Control ─────────────────────────────────────────────────────────────
    let diskFreeBytes: number | undefined
    const lookAtDisk = async (): Promise<void> => {
      const facts = await statfs(paths.state).catch(() => undefined)
      diskFreeBytes = facts ? facts.bavail * facts.bsize : undefined
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
        engine: trainer.info,
        model: {
          name: config.model.path === 'default' ? 'default' : modelPath,
          path: modelPath,
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
        now,
        state: () => {
          if (phase === 'stopping') return { state: 'STOPPING' }
          if (paused) return { state: 'PAUSED' }
          const [trouble] = troubles.values()
          if (trouble !== undefined) return { state: 'DEGRADED', detail: trouble }
          return policy.reference().version === 0 ? { state: 'GENERATING' } : { state: 'TRAINING' }
        },
        diskFree: () => diskFreeBytes,
        setPaused(value) {
          paused = value
          events.emit({ type: 'state', state: value ? 'PAUSED' : 'TRAINING' })
          changed.wake()
        },
        evaluate: ({ tasks: names, promptsPerTask }, evaluateSignal) =>
          evaluatePolicy(
            {
              promptsPerTask: promptsPerTask ?? config.eval.prompts_per_task,
              maxNewTokens: config.model.max_completion_tokens,
              ...(names ? { tasks: names } : {}),
              ...(evaluateSignal ? { signal: evaluateSignal } : {}),
            },
            { policy, tasks, now },
          ),
        checkpoint: () =>
          new Promise((resolve, reject) => {
            asked.push({ resolve, reject })
            changed.wake()
          }),
        async stop({ checkpoint }) {
          phase = 'stopping'
          events.emit({ type: 'state', state: 'STOPPING' })
          await endLoops()
          for (const { reject } of asked) reject(new WaggleError('E_CONTROL', 'the node is stopping'))
          asked = []
          if (checkpoint) await save()
          await closeAll()
          setImmediate(() => finish(0))
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

async function openPeers(path: string, closers: (() => Promise<unknown>)[]) {
  const datastore = await openPeerDatastore({ path })
  closers.push(() => datastore.close())
  return datastore
}

function packageRoot(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  // Sources are in daemon/, the published build in dist/daemon/.
  return import.meta.url.endsWith('.ts') ? dirname(here) : dirname(dirname(here))
}

function unreadableKey(cause: Error): never {
  throw new WaggleError('E_CONFIG', `the key of the private swarm cannot be read: ${cause.message}`, {
    hint: 'Check swarm.key_file and the permissions of the file that it names.',
    cause,
  })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
