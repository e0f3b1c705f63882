// A node without its loops and its network. One call is one round: it answers prompts, verifies the answers and trains
// on a batch. All decisions are the daemon's: its core, its rounds and its plugin host. Rounds are deterministic for a
// seed, because costs are counted in tokens instead of being timed.

import type { Plugin, SelectView } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { createCore, type NodeCore } from '../core/core.ts'
import type { OptimizerOptions } from '../engine/engine.ts'
import { PluginFailure } from '../host/call.ts'
import type { PluginHost, PluginHostOptions, PluginTrouble } from '../host/contract.ts'
import { createPluginHost } from '../host/host.ts'
import { randomStream } from '../host/random.ts'
import type { LivePolicy, PolicyState } from '../policy/live-policy.ts'
import type { Teachers } from '../policy/teachers.ts'
import { createParkedGroups } from '../rollout/parked/parked.ts'
import { boundedByAge, offersOf } from '../rollout/plugins/offers.ts'
import { createPluginWorld } from '../rollout/plugins/plugin-world.ts'
import { playRound } from '../rollout/round.ts'
import type { TaskBook } from '../rollout/tasks.ts'
import { createVolatileDatabase } from '../store/database/volatile-database.ts'
import { createPool } from '../store/pool/pool.ts'
import type { Aggregation } from '../trainer/aggregation.ts'
import type { StepRecorder } from '../trainer/audit/recording.ts'
import type { Finding, UpdateOutcome } from '../trainer/learning/contract.ts'

export interface RoundsOptions {
  /** Author name of own groups. */
  self: string
  seed: number
  /** Options of the plugin host, without the seed and the offered needs. */
  plugins: Omit<PluginHostOptions, 'seed' | 'offers'>
  /** A fixed set of prompts. Default: new prompts all the time. */
  candidates?: SelectView['candidates']
  /** I: prompts per round, and maximum number of own groups in a batch. */
  own: number
  /** Maximum of J. */
  foreign: number
  adaptive: boolean
  aggregation?: Aggregation
  groupSize: number
  temperature: number
  /** Asked for before each round's update. */
  pace(): { minibatches: number; optimizer: OptimizerOptions }
  warmUpSteps: number
  maxNewTokens: number
  maxStaleness: number
  /** Rounds between the states that a roll-back can restore. */
  keepEvery: number
}

interface RoundsParts {
  policy: LivePolicy
  tasks: TaskBook
  /** Plugins that can be named. */
  builtIn: readonly Plugin[]
  importPlugin(specifier: string): Promise<unknown>
  /** ms since the epoch; stamps groups. */
  now(): number
  /** Monotonic ms, for the hooks' time limits. */
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  isTrusted(author: string): boolean
  onFinding(finding: Finding): void
  onTrouble(trouble: PluginTrouble): void
  /** Records each update, as a node that makes receipts does. */
  recorder?: StepRecorder | undefined
  /** Default: there are none. */
  teachers?: Teachers
  /** Default: `createPluginHost`. A bench passes one that times its calls. */
  createHost?: typeof createPluginHost
}

interface PlayedRound {
  groups: Group[]
  /** The groups among them that may be shared with peers. */
  shared: Group[]
  /** Undefined if there was nothing to train on. */
  update: UpdateOutcome | undefined
  /** Number of sampled tokens, including those for plugins. */
  generatedTokens: number
}

export interface Rounds {
  readonly core: NodeCore
  round(signal?: AbortSignal): Promise<PlayedRound>
  close(): Promise<void>
}

/** Costs per token in forward passes: one to sample it, three to train on it. */
const SAMPLED = 1
const TRAINED = 3
/** Maximum number of waiting groups of each origin. */
const POOL = 256
/** Number of states kept for a roll-back. */
const STATES = 3

export async function createRounds(options: RoundsOptions, parts: RoundsParts): Promise<Rounds> {
  const { self, seed, own, maxNewTokens, maxStaleness } = options
  const { policy, tasks, now } = parts
  const { model } = policy
  const host = await openHost(options, parts)
  const parked = createParkedGroups()
  const pool = await createPool(
    { capacityGroups: POOL },
    { database: createVolatileDatabase(), log: () => {}, isKnown: () => true },
  )
  const states = await keepStates(policy)
  let rounds = 0

  const core = createCore(
    {
      settings: () => ({
        // A round trains on whatever groups it has.
        sizes: { own, foreign: options.foreign, due: 1 },
        ...(options.aggregation && { aggregation: options.aggregation }),
        ...options.pace(),
        warmUpSteps: options.warmUpSteps,
        maxStaleness,
      }),
      adaptive: options.adaptive,
      temperature: options.temperature,
      self,
    },
    {
      ...{ policy, plugins: host, pool, recorder: parts.recorder },
      random: (stream) => randomStream(seed, stream),
      trainingCost: ({ realTokens }) => TRAINED * realTokens,
      isKnown: () => true,
      isTrusted: parts.isTrusted,
      onFinding: parts.onFinding,
      restore: states.restore,
    },
  )

  return {
    core,

    async round(signal) {
      const random = randomStream(seed, `round/${rounds}`)
      const reference = policy.reference()
      const { groups, tokens } = await playRound(
        {
          view: {
            tasks: tasks.view,
            rollouts: options.groupSize,
            ...(options.candidates ? { candidates: options.candidates } : {}),
          },
          want: own,
          policy: reference,
          ...{ maxNewTokens, maxStaleness, signal, now },
          context: model.spec.contextLength,
          vocabulary: model.spec.vocabulary,
          temperature: options.temperature,
          author: self,
          sampleSeed: () => Math.floor(random() * 2 ** 32),
        },
        {
          sampler: policy.sampler,
          tokenizer: model.tokenizer,
          tasks,
          hooks: host.round({ step: reference.version }),
          parked,
        },
      )
      core.onRound({ cost: SAMPLED * tokens })
      const shared = groups.filter((group) => core.onOwnGroup(group).isShared)
      await core.handleAlarms()
      await core.testNewcomers()
      const batch = signal?.aborted ? undefined : core.nextBatch()
      const update = batch && (await core.train(batch).catch(lostBatch))
      rounds += 1
      if (rounds % options.keepEvery === 0) await states.keep()
      return { groups, shared, update, generatedTokens: tokens }
    },

    close: () => host.close(),
  }
}

/** Nothing replaces an estimator, so its batch is lost; `onTrouble` has told of it. */
function lostBatch(error: unknown): undefined {
  if (!(error instanceof PluginFailure)) throw error
}

/** The plugins, open on the policy. */
async function openHost(options: RoundsOptions, parts: RoundsParts): Promise<PluginHost> {
  const { seed, plugins, maxNewTokens, maxStaleness } = options
  const { policy, tasks } = parts
  const { model } = policy
  const host = await (parts.createHost ?? createPluginHost)(
    {
      ...plugins,
      corrections: boundedByAge(plugins.corrections, maxStaleness),
      seed,
      offers: offersOf(tasks.chosen, { isRecurring: options.candidates !== undefined }),
    },
    {
      builtIn: parts.builtIn,
      importPlugin: parts.importPlugin,
      now: parts.monotonic,
      sleep: parts.sleep,
      log: () => {},
      onTrouble: parts.onTrouble,
    },
  )
  const limits = { context: model.spec.contextLength, completion: maxNewTokens }
  const speaker = { sampler: policy.sampler, scorer: policy.scorer, tokenizer: model.tokenizer }
  await host.open(
    createPluginWorld(
      { limits, temperature: options.temperature },
      { tasks, policy: speaker, roles: new Map(), ...(parts.teachers && { teachers: parts.teachers }) },
    ),
    policy.reference().version,
  )
  return host
}

/** The newest states of the policy, the first one being now, for a roll-back. */
async function keepStates(policy: RoundsParts['policy']) {
  const states: { version: number; state: PolicyState }[] = []
  const keep = async (): Promise<void> => {
    const { version } = policy.reference()
    const [weights, optimizer] = await Promise.all([policy.trainer.weights(), policy.trainer.optimizer()])
    states.push({ version, state: { version, weights, optimizer } })
    if (states.length > STATES) states.shift()
  }
  await keep()
  return {
    keep,
    async restore(before: number): Promise<{ step: number }> {
      const chosen = states.findLast(({ version }) => version <= before) ?? states[0]!
      states.splice(states.indexOf(chosen) + 1)
      await policy.goBack(chosen.state)
      return { step: chosen.version }
    },
  }
}
