// A node without its loops and its network: one call is one round, in which it answers prompts, verifies the answers
// and learns from a batch. All decisions are made by the daemon's own code: its core, generation, verification and
// the plugin host. Rounds are deterministic for a seed.

import { createCore, type NodeCore } from '../../../daemon/core/core.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { createPluginHost, type PluginHostOptions } from '../../../daemon/host/host.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { codecOf } from '../../../daemon/policy/codec.ts'
import { type LivePolicy, openPolicy, type PolicyState } from '../../../daemon/policy/live-policy.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { scorePrompts } from '../../../daemon/rollout/evaluation/evaluate.ts'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { createParkedGroups } from '../../../daemon/rollout/parked/parked.ts'
import { createPluginWorld } from '../../../daemon/rollout/plugins/plugin-world.ts'
import { playRound } from '../../../daemon/rollout/round.ts'
import { createTaskBook, type TaskChoice } from '../../../daemon/rollout/tasks.ts'
import { createVolatileDatabase } from '../../../daemon/store/database/volatile-database.ts'
import { createPool } from '../../../daemon/store/pool/pool.ts'
import { Verifier } from '../../../daemon/swarm/admission/verify.ts'
import type { Finding, UpdateOutcome } from '../../../daemon/trainer/learner.ts'
import type { MixingRuleName } from '../../../daemon/trainer/sharing/mixing/index.ts'
import { PLUGINS, TASKS } from '../../../daemon/wiring/built-in.ts'
import type { Need, SelectView, Task } from '../../../protocol/plugin/index.ts'
import { draftOf, type GroupDraft } from '../../../protocol/wire/index.ts'
import { createLocalEngine } from './engine.ts'

export interface NodeOptions {
  name: string
  seed: number
  model: Model
  tasks: readonly TaskChoice[]
  /** Tasks to choose from; the built-in ones if left out. */
  known?: readonly Task[]
  /** A fixed set of prompts; new ones all the time if left out. */
  candidates?: SelectView['candidates']
  /** The swarm's name, for pickers that ask what a swarm has in common. */
  swarm?: string
  /** Plugins beside estimator and corrections, as the config names them. */
  plugins?: Partial<
    Pick<PluginHostOptions, 'estimator' | 'selector' | 'hints' | 'replay' | 'skills' | 'controls'>
  >
  /** I: prompts that it answers in a round, and own groups in a batch at most. */
  own: number
  /** J at most. */
  foreign: number
  adaptive: boolean
  /** How own and foreign gradients are combined; the daemon's default if left out. */
  rule?: MixingRuleName
  /** Its user vouches for all peers. */
  trusts?: boolean
  groupSize?: number
  learningRate?: number
  /** Scales the learning rate, which is meant for `own` groups, with the groups in each batch. */
  scaleRate?: boolean
  warmUpSteps?: number
  maxNewTokens?: number
  maxStaleness?: number
  threads?: number
  /** An engine to use, whose compiled graphs outlive the node; one of its own, that is closed with it, if left out. */
  engine?: Engine
  /** Rounds between two states that a roll-back may go to; 25 if left out. */
  checkpointEvery?: number
  corrections?: readonly { use: string; [setting: string]: unknown }[]
}

export interface RoundReport {
  /** Mean reward of this round's own rollouts. */
  reward: number
  /** Those with a signal: what peers get. */
  shared: GroupDraft[]
  step: UpdateOutcome | undefined
  generatedTokens: number
}

export interface ExperimentNode {
  readonly name: string
  readonly policy: LivePolicy
  round(): Promise<RoundReport>
  /** A peer's group as it came off the wire: verified and, if it is of use, kept. */
  receive(author: string, draft: GroupDraft): void
  /**
   * Sampled and greedy accuracy on `questions` different held-out ones; `marked` is the share of sampled answers with a
   * text in them.
   */
  evaluate(
    promptsPerTask: number,
    mark?: string,
  ): Promise<{ questions: number; sampled: number; greedy: number; marked: number }>
  learner: NodeCore['learner']
  readonly findings: Finding[]
  /** Of all rounds: tokens sampled, and tokens trained on. */
  readonly compute: { generated: number; trained: number }
  close(): Promise<void>
}

/** A sampled token costs a forward pass, as one that is trained on costs three. */
const SAMPLED = 1
const TRAINED = 3
/** Groups of each origin that wait at most. */
const POOL = 256

export async function createNode(options: NodeOptions): Promise<ExperimentNode> {
  const { name, seed, model, groupSize = 8, maxNewTokens = 96, maxStaleness = 8 } = options
  const engine = options.engine ?? createLocalEngine({ threads: options.threads ?? 1 })
  const policy = await openPolicy(
    { model },
    { sampler: engine, trainer: engine, random: randomStream(seed, 'adapter') },
  )
  const tasks = createTaskBook(options.known ?? TASKS, options.tasks)
  const codec = codecOf(model.tokenizer, model.spec.vocabulary)
  let clock = 0
  const host = await createPluginHost(
    {
      estimator: { use: 'grpo' },
      corrections: [
        ...(options.corrections ?? DEFAULT_CORRECTIONS),
        { use: 'staleness', bound: maxStaleness },
      ],
      selector: { use: 'uniform' },
      seed,
      offers: new Set<Need>([
        'privileged',
        'score',
        'park',
        ...(options.candidates ? (['recurring'] as const) : []),
        ...(tasks.chosen.some(({ task }) => task.environment) ? (['episodes'] as const) : []),
      ]),
      ...options.plugins,
    },
    {
      builtIn: PLUGINS,
      importPlugin: async (specifier) => {
        throw new Error(`${specifier} is not built in`)
      },
      now: () => clock,
      sleep: (_ms, signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      log: () => {},
      onTrouble: ({ name: plugin, message }) => {
        throw new Error(`${plugin}: ${message}`)
      },
    },
  )
  const limits = { context: model.spec.contextLength, completion: maxNewTokens }
  const speaker = { sampler: engine, scorer: engine, tokenizer: model.tokenizer }
  await host.open(createPluginWorld({ limits }, { tasks, policy: speaker, roles: new Map() }), 0)
  const parked = createParkedGroups()
  const verifier = new Verifier(
    { maxCompletionTokens: maxNewTokens },
    {
      tasks,
      codec,
      clock: { now: () => clock, after: () => () => {} },
      version: () => policy.reference().version,
    },
  )
  const pool = await createPool(
    { capacityGroups: POOL },
    {
      database: createVolatileDatabase(),
      log: () => {},
      isKnown: () => true,
    },
  )
  let received = 0
  const findings: Finding[] = []
  const compute = { generated: 0, trained: 0 }
  const states: { version: number; state: PolicyState }[] = []
  let rounds = 0

  const core = createCore(
    {
      // A round trains on whatever groups it has.
      sizes: { own: options.own, foreign: options.foreign, due: 1 },
      ...(options.scaleRate && { scaleRate: true }),
      adaptive: options.adaptive,
      ...(options.rule && { rule: options.rule }),
      minibatches: 1,
      temperature: 1,
      optimizer: {
        learningRate: options.learningRate ?? 1e-4,
        beta1: 0.9,
        beta2: 0.99,
        epsilon: 1e-8,
        weightDecay: 0,
        maxGradientNorm: 1,
      },
      warmUpSteps: options.warmUpSteps ?? 10,
      maxStaleness,
      self: name,
    },
    {
      ...{ policy, host, pool },
      random: (stream) => randomStream(seed, stream),
      // Counted, not timed, so that a run repeats itself.
      trainingCost: ({ realTokens }) => TRAINED * realTokens,
      // The peers of an experiment are in a swarm that its people joined.
      isKnown: () => true,
      isTrusted: () => options.trusts ?? false,
      onFinding: (finding) => findings.push(finding),
      async restore(before) {
        const chosen = states.findLast(({ version }) => version <= before) ?? states[0]!
        states.splice(states.indexOf(chosen) + 1)
        await policy.goBack(chosen.state)
        return { step: chosen.version }
      },
    },
  )
  const keepState = async (): Promise<void> => {
    const { version } = policy.reference()
    states.push({
      version,
      state: { version, weights: await engine.weights(), optimizer: await engine.optimizer() },
    })
    if (states.length > 3) states.shift()
  }
  await keepState()

  return {
    name,
    policy,
    learner: core.learner,
    findings,
    compute,

    async round() {
      clock += 1000
      const random = randomStream(seed, `round/${rounds}`)
      const reference = policy.reference()
      const { groups, tokens } = await playRound(
        {
          view: {
            tasks: tasks.view,
            rollouts: groupSize,
            ...(options.candidates ? { candidates: options.candidates } : {}),
            ...(options.swarm === undefined ? {} : { swarm: { name: options.swarm, self: name } }),
          },
          want: options.own,
          policy: reference,
          maxNewTokens,
          context: model.spec.contextLength,
          temperature: 1,
          maxStaleness,
          author: name,
          sampleSeed: () => Math.floor(random() * 2 ** 32),
          now: () => clock,
        },
        {
          sampler: engine,
          tokenizer: model.tokenizer,
          tasks,
          hooks: host.round({ step: reference.version }),
          parked,
        },
      )
      compute.generated += tokens
      core.onRound({ cost: SAMPLED * tokens })
      const shared: GroupDraft[] = []
      let reward = 0
      for (const group of groups) {
        reward +=
          group.rollouts.reduce((sum, one) => sum + one.reward, 0) / group.rollouts.length / groups.length
        if (core.onOwnGroup(group).isShared) shared.push(draftOf(group))
      }
      await core.attend()
      const batch = core.nextBatch()
      const step = batch && (await core.train(batch))
      compute.trained += step?.realTokens ?? 0
      rounds += 1
      if (rounds % (options.checkpointEvery ?? 25) === 0) await keepState()
      return { reward, shared, step, generatedTokens: tokens }
    },

    receive(author, draft) {
      const found = verifier.verify({
        group: { ...draft, author, sequence: ++received, createdAt: clock },
        source: author,
        bytes: 0,
      })
      if ('group' in found) core.onForeignGroup(found.group)
    },

    async evaluate(promptsPerTask, mark) {
      const scores = await scorePrompts(
        { promptsPerTask, maxNewTokens },
        { sampler: engine, tokenizer: model.tokenizer, tasks },
      )
      const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length
      let marked = 0
      if (mark !== undefined) {
        const questions: string[] = []
        for (const { task, difficulty } of tasks.chosen)
          for (const at of await heldOutPrompts(task, difficulty, promptsPerTask))
            questions.push(task.generate(at).question)
        const written = await engine.generate({
          samples: questions.map((question, i) => ({
            prompt: model.tokenizer.encodePrompt(question),
            seed: i,
          })),
          maxNewTokens,
          temperature: 1,
          stopTokens: model.tokenizer.stopTokens,
        })
        marked = mean(
          written.map(({ tokens }) => (model.tokenizer.decodeCompletion(tokens).includes(mark) ? 1 : 0)),
        )
      }
      return {
        questions: scores.reduce((sum, { greedy }) => sum + greedy.length, 0),
        sampled: mean(scores.map(({ sampled }) => mean(sampled.map(mean)))),
        greedy: mean(scores.map(({ greedy }) => mean(greedy))),
        marked,
      }
    },

    async close() {
      if (!options.engine) await engine.close()
    },
  }
}

/** As a fresh node's config has them. */
export const DEFAULT_CORRECTIONS = [{ use: 'clip' }, { use: 'tis', unknown: 'keep' }, { use: 'foreign' }]
