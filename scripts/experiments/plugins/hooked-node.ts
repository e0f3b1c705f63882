// A node without loops and peers, with every hook that plugins have, for comparing them: one call is one round and at
// most one update, on the round's groups.
//
// Rounds, plugin host, world, rows, objective and learner are the daemon's. Models of roles learn as the contract says:
// one update for what `commit` gives. All generated tokens count. Deterministic for a seed.

import type { AdapterSpec } from '../../../daemon/engine/decoder.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import type { PluginHost } from '../../../daemon/host/host.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { openPolicy } from '../../../daemon/policy/live-policy.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { createPluginWorld } from '../../../daemon/rollout/plugins/plugin-world.ts'
import { playRound } from '../../../daemon/rollout/round.ts'
import { createTaskBook, type TaskChoice } from '../../../daemon/rollout/tasks.ts'
import { createLearner } from '../../../daemon/trainer/learner.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Group, PromptCoordinates } from '../../../protocol/train/index.ts'
import { type ChosenPlugins, openHost } from './host.ts'
import { counted, openRoles } from './roles.ts'

export interface HookedNodeOptions {
  seed: number
  model: Model
  /** Trains a LoRA adapter; all parameters if left out. */
  adapter?: AdapterSpec
  tasks: readonly Task[]
  /** The fixed set of prompts that it learns from, all of one task and difficulty; or, with new prompts, the level. */
  learnsFrom: readonly PromptCoordinates[] | Required<TaskChoice>
  /** Prompts of a round, and rollouts of each. */
  prompts: number
  groupSize: number
  maxNewTokens: number
  learningRate: number
  warmUpSteps?: number
  plugins: ChosenPlugins
  /** The policy's, and one for each role that a plugin has. */
  engines: { policy: Engine; roles: Readonly<Record<string, Engine>> }
}

export interface HookedRound {
  /** Mean score of the verifier over the round's groups as plugins left them. */
  reward: number
  groups: readonly Group[]
  /** Those that were trained on. */
  trained: number
  metrics: Record<string, number>
}

export interface HookedNode {
  readonly host: PluginHost
  round(): Promise<HookedRound>
  /** Since the start: written by the policy and by roles. */
  readonly tokens: number
  readonly updates: number
}

const SELF = 'alone'

export async function createHookedNode(options: HookedNodeOptions): Promise<HookedNode> {
  const { seed, model, adapter, maxNewTokens, groupSize, engines, learnsFrom } = options
  const candidates = isSet(learnsFrom) ? learnsFrom : undefined
  const level = isSet(learnsFrom)
    ? { name: learnsFrom[0]!.task, difficulty: learnsFrom[0]!.difficulty }
    : learnsFrom
  const { tokenizer } = model
  const engine = engines.policy
  const policy = await openPolicy(
    { model, ...(options.adapter && { adapter: options.adapter }), stopStrings: true },
    { sampler: engine, trainer: engine, random: randomStream(seed, 'adapter') },
  )
  const optimizer = {
    learningRate: options.learningRate,
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    weightDecay: 0,
    maxGradientNorm: 1,
  }
  const roles = await openRoles(engines.roles, { seed, model, adapter, optimizer })
  const book = createTaskBook(options.tasks, [level])
  const limits = { context: model.spec.contextLength, completion: maxNewTokens }
  const host = await openHost({ seed, plugins: options.plugins, roles: [...roles.keys()] })
  let tokens = 0
  let updates = 0
  let rounds = 0
  const plain = createPluginWorld(
    { limits },
    { tasks: book, policy: { sampler: engine, scorer: engine, tokenizer }, roles },
  )
  const world = counted(plain, (written) => {
    tokens += written
  })
  await host.open(world, 0)

  // One round's groups are one batch, so the learner needs no pool and chooses none.
  const learner = createLearner(
    {
      sizes: { own: options.prompts, foreign: 0 },
      minibatches: 1,
      temperature: 1,
      optimizer,
      warmUpSteps: options.warmUpSteps ?? 0,
      self: SELF,
      adaptive: false,
    },
    {
      ...{ policy, host, roles },
      random: (stream) => randomStream(seed, stream),
      cost: ({ realTokens }) => realTokens,
      onFinding: (finding) => {
        if (finding.type === 'guard' && finding.guard === 'role') throw new Error(finding.message)
      },
      // A policy that collapses stays as it is.
      restore: async () => undefined,
    },
  )

  return {
    host,
    async round() {
      const reference = policy.reference()
      const random = randomStream(seed, `round/${rounds++}`)
      const played = await playRound(
        {
          view: { tasks: book.view, rollouts: groupSize, ...(candidates && { candidates }) },
          want: options.prompts,
          policy: reference,
          maxNewTokens,
          context: limits.context,
          vocabulary: model.spec.vocabulary,
          temperature: 1,
          maxStaleness: 8,
          author: SELF,
          sampleSeed: () => Math.floor(random() * 2 ** 32),
          now: () => 0,
        },
        { sampler: engine, tokenizer, tasks: book, hooks: host.round({ step: reference.version }) },
      )
      tokens += played.tokens
      const scores = played.groups.flatMap(({ rollouts }) =>
        rollouts.map((one) => one.taskReward ?? one.reward),
      )
      const done = await learner.train({ groups: played.groups, learnForeign: false, compare: false })
      if (host.updates) updates += done?.steps ?? 0
      const reward = scores.reduce((sum, one) => sum + one, 0) / Math.max(1, scores.length)
      return {
        reward,
        groups: played.groups,
        trained: done?.own ?? 0,
        metrics: { ...done?.pluginMetrics, ...host.takeMetrics() },
      }
    },
    get tokens() {
      return tokens
    },
    get updates() {
      return updates
    },
  }
}

function isSet(given: HookedNodeOptions['learnsFrom']): given is readonly PromptCoordinates[] {
  return Array.isArray(given)
}
