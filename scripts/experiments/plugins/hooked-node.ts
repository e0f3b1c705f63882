// A node alone with every hook that plugins have, for comparing them: one call is one round and at most one update.
//
// Rounds, plugin host, world, rows, objective and update are the daemon's; there are no loops, no pool, no guards and no
// peers. What a round has of groups with a signal is trained on at once. Models of roles learn as the contract says:
// one update for what `commit` gives. All tokens that anybody has written count. Deterministic for a seed.

import type { Engine } from '../../../daemon/engine/engine.ts'
import type { PluginHost } from '../../../daemon/host/host.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { openPolicy } from '../../../daemon/policy/live-policy.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { createPluginWorld } from '../../../daemon/rollout/plugins/plugin-world.ts'
import { playRound } from '../../../daemon/rollout/round.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { update } from '../../../daemon/trainer/update.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { type Group, hasSignal, type PromptCoordinates } from '../../../protocol/train/index.ts'
import { type ChosenPlugins, openHost } from './host.ts'
import { counted, openRoles } from './roles.ts'

export interface HookedNodeOptions {
  seed: number
  model: Model
  tasks: readonly Task[]
  /** The fixed set of prompts that it learns from, all of one task and difficulty. */
  candidates: readonly PromptCoordinates[]
  /** Prompts of a round, and rollouts of each. */
  prompts: number
  groupSize: number
  maxNewTokens: number
  learningRate: number
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
  const { seed, model, maxNewTokens, groupSize, engines, candidates } = options
  const { tokenizer } = model
  const engine = engines.policy
  const policy = await openPolicy(
    { model },
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
  const roles = await openRoles(engines.roles, { model, optimizer })
  const { task, difficulty } = candidates[0]!
  const book = createTaskBook(options.tasks, [{ name: task, difficulty }])
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

  const learn = async (own: readonly Group[]): Promise<number> => {
    const { lineage, version, tokenizer: digest } = policy.reference()
    const batch = host.batch({ step: version })
    const view = { lineage, tokenizer: digest, version, self: SELF }
    const groups = (await batch.group(own, view)).filter(
      (group) => host.learnsFromAny || group.always === true || hasSignal(group),
    )
    const advantages = groups.length > 0 ? await batch.advantage(groups) : []
    if (groups.length > 0 && host.updates) {
      const { steps } = await update(
        groups,
        advantages,
        {
          temperature: 1,
          minibatches: 1,
          optimizer,
          self: SELF,
          lineage,
          version,
          isBelieved: () => true,
          columns: await batch.columns(advantages, groups),
          allowance: () => 1,
          weight: () => 1,
          standing: () => 1,
          learnForeign: false,
          compare: false,
        },
        { engine, objective: host.objective, random: randomStream(seed, `minibatches/${version}`) },
      )
      await policy.advance(steps)
      updates += steps
    }
    // Also where nothing was learnt: else a role whose texts have brought nothing yet would never learn.
    const step = policy.reference().version
    const train = await batch.commit({ step, metrics: {}, groups, advantages })
    for (const [name, role] of roles) await role.learn(train.filter((group) => group.role === name))
    return groups.length
  }

  return {
    host,
    async round() {
      const reference = policy.reference()
      const random = randomStream(seed, `round/${rounds++}`)
      const played = await playRound(
        {
          view: { tasks: book.view, rollouts: groupSize, candidates },
          want: options.prompts,
          policy: reference,
          maxNewTokens,
          context: limits.context,
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
      const trained = await learn(played.groups)
      const reward = scores.reduce((sum, one) => sum + one, 0) / Math.max(1, scores.length)
      return { reward, groups: played.groups, trained, metrics: host.takeMetrics() }
    },
    get tokens() {
      return tokens
    },
    get updates() {
      return updates
    },
  }
}
