// An honest node in a simulation: the daemon's own core, loops, pool, checkpoints, database, admission, verification,
// fetching and memory, on a virtual clock, disk and network. What is not the daemon's: the policy (one number), LevelDB,
// libp2p, and the wiring in daemon/main.ts. It lives many times; only its disk and its key stay.

import type { Key } from 'interface-datastore'
import { type Config, configSchema } from '../../daemon/config/schema.ts'
import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import { createJournal } from '../../daemon/control/journal/journal.ts'
import { createShowcase } from '../../daemon/control/journal/showcase.ts'
import type { NodeCore } from '../../daemon/core/core.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import type { NodeAudits } from '../../daemon/node/audits/audits.ts'
import { openCore } from '../../daemon/node/core.ts'
import { trainingFacts } from '../../daemon/node/facts/training-facts.ts'
import { openHeads } from '../../daemon/node/heads/open.ts'
import { openProbation } from '../../daemon/node/heads/probation-record.ts'
import { startLoops } from '../../daemon/node/loops.ts'
import type { Models } from '../../daemon/node/policy/models.ts'
import { openRounds } from '../../daemon/node/rounds.ts'
import { createSaving } from '../../daemon/node/saving.ts'
import { openPolicy } from '../../daemon/policy/live-policy.ts'
import { trainedMeta } from '../../daemon/policy/trained.ts'
import { createParkedGroups } from '../../daemon/rollout/parked/parked.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { type Checkpoints, createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import { type LevelStore, openDatabase } from '../../daemon/store/database/database.ts'
import { createStepSeries } from '../../daemon/store/database/records.ts'
import type { Disk } from '../../daemon/store/disk.ts'
import { createPool, type Pool } from '../../daemon/store/pool/pool.ts'
import { createExchange, type Exchange } from '../../daemon/swarm/exchange.ts'
import type { Swarm } from '../../daemon/swarm/index.ts'
import { openPeerDatastore } from '../../daemon/swarm/libp2p/datastore.ts'
import { Notices } from '../../daemon/swarm/notices.ts'
import type { Ladder } from '../../daemon/trainer/audit/ladder.ts'
import { tokensIn } from '../../daemon/trainer/batch/prompt-mix.ts'
import { restoreNode } from '../../daemon/trainer/checkpoints/checkpointing.ts'
import { createTrainingRecord } from '../../daemon/trainer/checkpoints/training-record.ts'
import { createTrainedOn } from '../../daemon/trainer/trained-on.ts'
import { type Alert, NO_PHASES } from '../../protocol/api/index.ts'
import { setUp as openHost } from '../host/setup.ts'
import { SimulatedDisk, type Survival } from '../store/simulated-disk.ts'
import { AUDIT_SECONDS, openSimulatedAudits, openSimulatedRounds } from './audits.ts'
import { type Checks, createChecks, hexOf, type Truth } from './checks.ts'
import { authenticityOf, identityFrom, type Signatures } from './identity.ts'
import { createLogLevel } from './log-level.ts'
import { createGossip, type Net } from './net.ts'
import { type DiskTrouble, type Life, nodeDisk } from './node-disk.ts'
import { blankWeights, codec, createTabularEngine, even, MAX_TOKENS, model, SPEC, skillOf } from './policy.ts'
import { EPOCH, type Random, randomOf, type World } from './world.ts'

const POOL_GROUPS = 32
const SAMPLE_MS = 5000

export const config: Config = configSchema.parse({
  rollout: { group_size: 4, groups_per_round: 2 },
  model: { max_completion_tokens: MAX_TOKENS },
  training: { batch_groups: 2, max_peer_groups: 4, learning_rate: 0.005, warm_up_steps: 0 },
  checkpoint: { every_steps: 5 },
  eval: { every_seconds: 0, prompts_per_task: 4 },
})

/** Faults that are built in on purpose, to see whether the checks find them. */
export interface Planted {
  /** Put between the daemon and its disk, or its parts. */
  disk?(disk: SimulatedDisk): void
  level?(level: LevelStore): LevelStore
  exchange?(exchange: Exchange): void
  pool?(pool: Pool): Pool
  /** The skill that it says a step has led to. */
  forge?: Forge
}

export type Forge = (step: { before: number; after: number; time: number; random: Random }) => number

export interface NodeOptions {
  name: string
  /** Peers that a person joined. */
  joined?: ReadonlySet<string>
  planted?: Planted
  signatures: Signatures
  settings?: Config
  /** Nobody is trusted but by `settings.swarm.trust`. */
  isPublic?: boolean
  /** Processor time of an audit. */
  auditSeconds?: number
}

/** An engine whose steps lead elsewhere. */
function forging(
  engine: Engine,
  forge: Forge | undefined,
  now: () => Pick<Parameters<Forge>[0], 'time' | 'random'>,
): Engine {
  if (!forge) return engine
  const lie = async <Report>(call: () => Promise<Report>): Promise<Report> => {
    const before = skillOf(await engine.weights())
    const report = await call()
    const after = skillOf(await engine.weights())
    const said = after === before ? after : forge({ ...now(), before, after })
    if (said !== after) await engine.setWeights(blankWeights(said))
    return report
  }
  return {
    ...engine,
    train: (request) => lie(() => engine.train(request)),
    step: (request) => lie(() => engine.step(request)),
  }
}

export type HonestNode = ReturnType<typeof createHonestNode>

interface Living extends Life {
  exchange: Exchange
  pool: Pool
  core: NodeCore
  /** Of the weights that it writes rollouts with; the trainer may have some that are only tried. */
  skill(): Promise<number>
  alerts(): readonly Alert[]
  ladder: Ladder
  auditCost: NodeAudits['cost']
  /** How often weights of each stranger were taken. */
  taken: ReadonlyMap<string, number>
  onGossip(from: string, data: Uint8Array): void
  answer(
    from: string,
    protocol: string,
    question: Uint8Array,
  ): ReturnType<ReturnType<Net['requests']>['answer']>
}

export function createHonestNode(
  {
    name,
    joined = new Set(),
    planted = {},
    signatures,
    settings = config,
    isPublic = false,
    auditSeconds = AUDIT_SECONDS,
  }: NodeOptions,
  { world, net, truth }: { world: World; net: Net; truth: Truth },
) {
  const random = world.random(`node ${name}`)
  const identity = identityFrom(random, signatures)
  const self = identity.peerId
  truth.honest.add(self)
  truth.wrote.set(self, new Set())
  truth.heads.set(self, new Set())
  const headRandom = world.random(`heads of ${name}`)
  const auditRandom = world.random(`audits of ${name}`)
  const checks: Checks = createChecks(
    { name, self, maxStaleness: settings.training.max_staleness },
    { world, truth },
  )
  const weather = {
    disk: undefined as DiskTrouble | undefined,
    /** Probability that the model gives NaN, and that the engine fails. */
    nan: 0,
    fails: 0,
    /** How often the model gave NaN. */
    nans: 0,
    /** ms that its clock is ahead of the world's. */
    skew: 0,
    /** Its work takes this many times as long. */
    slowness: 1,
    /** Probability that a verifier takes too long. */
    verifier: 0,
    /** It dies before the disk operation, or in the engine call, with this number, counted from now. */
    stepsToLive: Number.POSITIVE_INFINITY,
    callsToLive: Number.POSITIVE_INFINITY,
  }
  /** Over all lives: of own groups, and of groups that were scored to get to know their authors. */
  const tokens = { own: 0, introductions: 0 }
  let disk = new SimulatedDisk()
  let backup: SimulatedDisk | undefined
  planted.disk?.(disk)
  let isDamaged = false
  let living: Living | undefined
  let last: Living | undefined
  let booting: Life | undefined

  function die(survival: Survival): void {
    const life = living ?? booting
    if (!life) return
    life.isAlive = false
    last = living ?? last
    living = booting = undefined
    weather.stepsToLive = weather.callsToLive = Number.POSITIVE_INFINITY
    disk = disk.afterPowerCut(survival)
    planted.disk?.(disk)
    world.note(`${name} dies`)
    net.remove(self)
  }

  const kill = (isPower: boolean): void =>
    die(isPower ? { names: random.next, data: random.next } : { names: 'all', data: 'all' })

  async function boot(): Promise<void> {
    if (living || booting) return
    const life: Life = { isAlive: true }
    booting = life
    world.note(`${name} boots`)
    try {
      const born = await open(life)
      if (!life.isAlive) return
      booting = undefined
      living = born
      net.add(self, endpoint)
      world.note(`${name} lives`)
    } catch (error) {
      if (!life.isAlive) return
      life.isAlive = false
      booting = undefined
      world.note(`${name} cannot start: ${(error as Error).message}`)
      if (!weather.disk && !isDamaged) checks.failed(`it cannot start: ${(error as Error).stack}`)
      // As a service manager does.
      world.after(5000, () => void boot())
    }
  }

  const endpoint = {
    onGossip: (from: string, data: Uint8Array) => living?.onGossip(from, data),
    onQuestion: (from: string, protocol: string, question: Uint8Array) =>
      living?.answer(from, protocol, question) ?? [],
    onConnected(peer: string) {
      const now = living
      now?.exchange.onConnected(peer)
      // After the greeting.
      world.after(200, () => {
        if (now?.isAlive && net.neighbours(self).has(peer)) now.exchange.onGreeted(peer)
      })
    },
    onDisconnected: (peer: string) => living?.exchange.onDisconnected(peer),
  }

  async function open(life: Life): Promise<Living> {
    const after = (ms: number, run: () => void) => world.after(ms, () => life.isAlive && run())
    const clock = { now: () => Math.floor(EPOCH + world.time + weather.skew), after }
    const sleep = (ms: number) => new Promise<void>((resolve) => void after(ms, resolve))
    const log = (level: string, message: string, data?: Record<string, unknown>) => {
      world.note(`${name} ${level} ${message}`)
      if (message === 'admission failed' || message === 'a verified group could not be handed on')
        checks.failed(`${message}: ${JSON.stringify(data)}`)
    }
    const port: Disk = nodeDisk(
      {
        disk,
        life,
        trouble: () => weather.disk,
        onStep() {
          if (--weather.stepsToLive <= 0) kill(true)
        },
      },
      { world, random },
    )
    const levelOf = (directory: string): LevelStore => {
      const level = createLogLevel({ directory }, { disk: port })
      return planted.level?.(level) ?? level
    }
    const stored = await createCheckpoints(
      { directory: '/home/checkpoints' },
      { disk: port, clock: clock.now, log },
    )
    const checkpoints: Checkpoints = {
      ...stored,
      async save(asked) {
        checks.saving(asked.policyVersion, skillOf(await trainer.weights()))
        const made = await stored.save(asked)
        if (life.isAlive) checks.saved(made.manifest.sequence)
        world.note(`${name} saved ${made.manifest.sequence} of version ${asked.policyVersion}`)
        return made
      },
      discardAfter(sequence) {
        checks.discarding(sequence)
        return stored.discardAfter(sequence)
      },
    }
    const database = await openDatabase(
      { directory: '/home/store' },
      { log, levelOf, later: (run, ms) => after(ms, run) },
    )
    const datastore = await openPeerDatastore({ path: '/home/peers' }, { levelOf: levelOf as never })
    const ids = { lineage: model.digest, spec: SPEC }
    const restored = await restoreNode(ids, { checkpoints, disk: port })
    const trouble = {
      nan() {
        const isNan = life.isAlive && random.chance(weather.nan)
        if (isNan) weather.nans++
        return isNan
      },
      fails: () => life.isAlive && random.chance(weather.fails),
      onCall() {
        if (life.isAlive && --weather.callsToLive <= 0) kill(false)
        return life.isAlive
      },
    }
    const paced = (ms: number) => sleep(ms * weather.slowness * random.between(0.7, 1.3))
    const times = { generateMs: 3000, trainMs: 200 }
    const sampler = createTabularEngine(times, { sleep: paced, trouble })
    const tabular = forging(createTabularEngine(times, { sleep: paced, trouble }), planted.forge, () => ({
      ...{ time: world.time, random: auditRandom },
    }))
    const trainer: typeof tabular = {
      ...tabular,
      score(request) {
        const scores = request.sequences.map(
          ({ conditioning, completion }) => conditioning.length + completion.length,
        )
        if (request.pit) tokens.introductions += scores.reduce((sum, count) => sum + count, 0)
        return tabular.score(request)
      },
    }
    const policy = await openPolicy({ model, state: restored?.policy }, { sampler, trainer })
    const { plugins } = await openHost([])
    const hasty: typeof even = {
      ...even,
      verify(instance, text) {
        if (life.isAlive && random.chance(weather.verifier)) throw new Error('the verifier took too long')
        return even.verify(instance, text)
      },
    }
    const tasks = createTaskBook([hasty], [{ name: 'even' }])
    const isKnown = (peer: string) => exchange.isKnown(peer)
    const inner = await createPool({ capacityGroups: POOL_GROUPS }, { database, log, isKnown })
    const pool = planted.pool?.(inner) ?? inner
    pool.retire(restored?.state.learnt ?? [])
    const showcase = createShowcase({}, tasks)
    const [steps, evaluations] = ['step', 'eval'].map((of) => createStepSeries({ name: of }, { database }))
    const trainedOn = createTrainedOn({ now: clock.now })
    trainedOn.restore(restored?.state.trainedOn)
    const journal = await createJournal(
      { learningRate: () => settings.training.learning_rate, logFile: '' },
      {
        ...{ showcase, steps: steps!, evaluations: evaluations!, now: clock.now },
        events: createEventLog({}, { clock: clock.now }),
        trainedOn,
      },
    )
    const changed = createWaker()
    const parked = createParkedGroups()
    const rounds = await openRounds({ atLeast: restored?.state.rounds ?? 0 }, { database })
    const flushed: Pick<Pool, 'flush' | 'unwritten'> = {
      unwritten: pool.unwritten,
      async flush() {
        const entries = all(pool).map(({ group, uses }) => [group.id, uses] as const)
        await pool.flush()
        if (life.isAlive) checks.flushed(entries)
      },
    }
    const record = createTrainingRecord({}, { facts: () => trainingFacts(settings, { tasks }) })
    let watchedHeads:
      | Pick<Swarm, 'heads' | 'peers' | 'isPrivate' | 'receipts' | 'isKnown' | 'accuse'>
      | undefined
    const audits = openSimulatedAudits(
      { settings, self, restored: restored?.receipt, seconds: auditSeconds },
      {
        ...{ policy, plugins, disk: port, signer: identity.signer, now: clock.now },
        ...{ swarm: () => watchedHeads, monotonic: () => world.time, random: auditRandom.next },
        odds: () => core.learner.odds(),
        log: (message) => world.note(`${name} ${message}`),
      },
    )
    const probation = await openProbation(policy, { database, log })
    const heads = openHeads(
      { settings: () => settings, isLineageKnown: true },
      {
        ...{ policy, probation, tasks, trainedOn, phases: NO_PHASES, now: clock.now },
        journal: {
          ...journal,
          log(level, message) {
            world.note(`${name} ${message}`)
            journal.log(level, message)
          },
        },
        random: headRandom.next,
        wake: () => changed.wake(),
        mustWait: () => !life.isAlive,
        alarm: (message, goodAt) => core.alarm(message, goodAt),
        joined: restored && trainedMeta(restored.checkpoint.manifest.meta).joined,
        ...{ after, audits },
        hasTeacher: false,
        swarm: () => watchedHeads,
      },
    )
    const { isSaveDue, save, restore } = createSaving({
      ...{ plugins, parked, checkpoints, journal, disk: port, pool: flushed },
      models: { model, base: { name: 'tiny', directory: '/' } } as unknown as Pick<Models, 'model' | 'base'>,
      ...{ record, heads, audits },
      policies: { policy, roles: new Map(), restoreRoles: async () => {} },
      schedule: () => settings.checkpoint,
      isRestored: restored !== undefined,
      mayWrite: () => true,
      rounds: () => rounds.count,
      learner: () => core.learner.state(),
      headLineage: policy.lineage,
      monotonic: () => world.time,
      phases: NO_PHASES,
    })
    let training: Parameters<NodeCore['train']>[0] | undefined

    const core: NodeCore = openCore(
      {
        settings: () => settings,
        self,
        seed: Math.floor(random.next() * 2 ** 31),
        restored: restored?.state.learner,
      },
      {
        ...{ policy, plugins: plugins, pool, parked, isKnown, roles: new Map(), phases: NO_PHASES },
        isJoined: heads.isJoined,
        nodes: () => heads.nodes,
        recorder: audits.recorder,
        journal: {
          finding(finding, step) {
            world.note(
              `${name} ${finding.type === 'guard' ? `${finding.guard}: ${finding.message}` : finding.type}`,
            )
            journal.finding(finding, step)
          },
        },
        restore,
      },
    )
    const watchedCore: NodeCore = {
      ...core,
      onOwnGroup(group) {
        tokens.own += tokensIn(group)
        return core.onOwnGroup(group)
      },
      get isBarren() {
        return core.isBarren
      },
      get isSaveUrgent() {
        return core.isSaveUrgent
      },
      nextBatch() {
        training = core.nextBatch()
        if (training && life.isAlive) {
          world.note(`${name} batch ${training.groups.map(({ id }) => id.slice(0, 8)).join(' ')}`)
          checks.batch(training.groups, policy.reference().version)
        }
        return training
      },
      async train(batch) {
        try {
          const report = await core.train(batch)
          if (!life.isAlive) return report
          if (!report || report.steps === 0) checks.untrained(batch.groups)
          else checks.stepped(batch.groups, policy.reference().version, report.rolledBack === true)
          return report
        } catch (error) {
          if (life.isAlive) checks.untrained(batch.groups)
          throw error
        }
      },
    }

    const put = datastore.put.bind(datastore)
    datastore.put = async (key, value, options) => {
      let done: Key
      try {
        done = await put(key, value, options)
      } catch (error) {
        checks.quotaLost()
        throw error
      }
      if (life.isAlive && key.toString() === '/waggle/memory')
        checks.banned(JSON.parse(new TextDecoder().decode(value)).standing.entries)
      return done
    }
    const { gossip, receive } = createGossip(
      { self, life },
      {
        net,
        guard: () => exchange.validator.guard,
        validate: (source, message) => exchange.validator.validate(source, message),
        onVerdict: (source, id, verdict) => world.note(`${name} ${verdict} ${id} from ${source.slice(-6)}`),
      },
    )
    let answer: Living['answer'] = () => []
    const notices = new Notices({}, { onEvent: journal.swarm })
    const exchange: Exchange = createExchange(
      { maxCompletionTokens: MAX_TOKENS, tasks: [{ name: even.name, version: even.version }] },
      {
        ...{ identity, clock, log, datastore, gossip },
        tasks: { find: tasks.find },
        hasWritten: (id) => pool.hasSeen(id),
        codec,
        version: () => policy.reference().version,
        onGroup(group) {
          checks.arrived(group)
          if (watchedCore.onForeignGroup(group)) changed.wake()
        },
        isJoined: (author) => heads.isJoined(author),
        isUnknown: (author) => core.learner.isUnknown(author),
        onAccusation: audits.accused,
        onUnneeded: (peer) => notices.unneeded(peer),
        onEvent(event) {
          journal.swarm(event)
          if (event.type !== 'refused' || event.reason !== 'copy') return
          // A hostile author that has earned trust may send an unknown author's text before it does (SECURITY.md).
          const hasEarned = exchange.records
            .all()
            .some(({ id }) => !truth.honest.has(id) && exchange.isKnown(id))
          if (!hasEarned) checks.passedForCopy(event.peer)
        },
        requests(records) {
          const requests = net.requests(self, records, life)
          answer = requests.answer
          return requests
        },
        links: {
          cut: (peer) => {
            world.note(`${name} cuts ${peer.slice(-6)}`)
            net.disconnect(self, peer)
          },
          slow() {},
        },
        isWanted: (peer) => joined.has(peer),
        onClock() {},
        onImpostor: () => checks.failed('another node seems to sign with its key'),
        soon: (run) => void after(0.1, run),
        salt: random.bytes(16),
        ...authenticityOf(signatures),
      },
    )
    planted.exchange?.(exchange)
    const screen = exchange.admission.screen.bind(exchange.admission)
    exchange.admission.screen = (bytes, source, options = {}) => {
      const result = screen(bytes, source, options)
      if ('admitted' in result)
        checks.admitted(result.admitted.group.author, options.fetched ? 'fetched' : 'gossip', clock.now())
      return result
    }
    const offend = exchange.reputation.offend.bind(exchange.reputation)
    exchange.reputation.offend = (peer, offence, times) => {
      checks.charged(peer, offence)
      offend(peer, offence, times)
    }
    watchedHeads = {
      // Everybody takes everybody's weights, hostile nodes' too.
      isPrivate: !isPublic,
      receipts: exchange.receipts,
      isKnown,
      async accuse(accusation, proof) {
        exchange.receipts.prove(proof)
        await exchange.publisher.accuse(accusation)
      },
      peers: () => exchange.records.all() as unknown as ReturnType<Swarm['peers']>,
      heads: {
        ...exchange.heads,
        offer(head, bytes) {
          truth.heads.get(self)!.add(hexOf(bytes))
          exchange.heads.offer(head, bytes)
        },
        async fetch(head, options) {
          const bytes = await exchange.heads.fetch(head, options)
          if (bytes && life.isAlive) checks.fetched(head, policy.lineage, bytes)
          return bytes
        },
      },
    }
    await exchange.start()

    checks.restarted(
      restored && {
        sequence: restored.checkpoint.manifest.sequence,
        version: restored.policy.version,
        skill: skillOf(restored.policy.weights),
      },
      all(pool),
      last && all(last.pool),
      { isDamaged, isCut: (peer) => exchange.reputation.isCut(peer), now: clock.now() },
    )
    isDamaged = false

    const taken = new Map<string, number>()
    const watched: typeof heads = {
      ...heads,
      takeAudited(weights) {
        taken.set(weights.author, (taken.get(weights.author) ?? 0) + 1)
        heads.takeAudited(weights)
      },
    }
    const auditRounds = openSimulatedRounds(
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
    startLoops(
      { settings: () => settings, self, seed: randomOf(name).next() * 2 ** 31 },
      {
        ...{
          heads: {
            ownGroup: heads.ownGroup,
            async exchange() {
              await heads.exchange()
              auditRounds.next()
              if (life.isAlive && !isPublic) checks.joined(heads.info()!.peers.map(({ peer }) => peer))
            },
          },
          core: watchedCore,
          phases: NO_PHASES,
          policy,
          plugins: plugins,
          tasks,
          onBatch: showcase.used,
          changed,
          parked,
          journal,
          record,
        },
        swarm: {
          name: 'sim',
          publish(draft) {
            truth.wrote.get(self)!.add(draft.id)
            return exchange.publisher.publish(draft)
          },
          used(author, groups = 1) {
            const record = exchange.records.get(author)
            if (record) record.used += groups
          },
        } as Swarm,
        now: clock.now,
        monotonic: () => world.time,
        sleep,
        nextRound: rounds.next,
        ...{ save, isSaveDue },
        async serveRequests() {},
        async restIfDue() {},
        mustWait: () => !life.isAlive,
      },
    )
    const skill = async () => skillOf(await sampler.weights())
    const look = async (): Promise<void> => {
      if (!life.isAlive) return
      checks.state({
        pool: pool.counts(),
        capacity: POOL_GROUPS,
        records: exchange.records.all().length,
        reputation: exchange.reputation.all().length,
        waiting: exchange.validator.waiting,
        skill: await skill(),
        isCut: (peer) => exchange.reputation.isCut(peer),
        setAside: core.learner.state().setAside.map(({ author }) => author),
      })
      after(SAMPLE_MS, () => void look())
    }
    after(SAMPLE_MS, () => void look())
    const alerts = () => journal.telemetry.alerts
    return Object.assign(life, {
      exchange,
      pool,
      core: watchedCore,
      skill,
      onGossip: receive,
      answer,
      alerts,
      ladder: audits.ladder,
      auditCost: audits.cost,
      taken,
    })
  }

  const all = (pool: Pool) =>
    (['own', 'foreign'] as const).flatMap((origin) =>
      pool.select({ origin, count: Number.POSITIVE_INFINITY, order: 'newest' }),
    )

  return {
    ...{ name, id: self, identity, checks, weather, tokens, kill },
    get living() {
      return living
    },
    get diskBytes() {
      return disk.used
    },
    boot: () => void boot(),
    /** Its owner makes a backup or, if there is one, kills the node and puts back its disk as it was then. */
    backUp(): void {
      if (backup === undefined) {
        backup = disk.afterPowerCut({ names: 'all', data: 'all' })
        return
      }
      kill(false)
      disk = backup
      planted.disk?.(disk)
      backup = undefined
      checks.putBack()
    },
    setClock(skew: number): void {
      weather.skew = skew
      checks.quotaLost()
    },
    /** Bits of a file change while nobody looks. */
    rot(): void {
      const files = disk.files().filter((path) => path.startsWith('/home/checkpoints/'))
      const folders = new Set(files.map((path) => path.split('/')[3]))
      // With a single checkpoint, which may be damaged, a node rightly waits for its owner.
      if (isDamaged || folders.size < 3) return
      isDamaged = true
      disk.corrupt(random.pick(files), (bytes) => {
        const changed = Uint8Array.from(bytes)
        if (changed.length > 0)
          changed[Math.floor(random.next() * changed.length)]! ^= 1 << Math.floor(random.next() * 8)
        return changed
      })
    },
    /** A broken link works again. */
    mended: (peer: string) => living?.exchange.fillGap(peer),
  }
}
