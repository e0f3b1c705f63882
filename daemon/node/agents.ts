// Opens the gateway for agents and the served environments, if the config has any, and connects them to the node.

import { WaggleError } from '../../protocol/errors.ts'
import type { Group } from '../../protocol/train/index.ts'
import {
  type AgentGateway,
  offeredModel,
  openGateway,
  openNemoGym,
  openOpenEnv,
  type Row,
  type ServedEnvironment,
  type Serving,
} from '../agents/index.ts'
import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { Journal } from '../control/journal/journal.ts'
import type { NodeCore } from '../core/core.ts'
import { tokenOf } from '../http/index.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { MemoryPlan } from '../policy/memory-plan/index.ts'
import type { TaskBook } from '../rollout/tasks.ts'
import type { Waker } from '../rollout/waker.ts'
import type { Closers } from './begin.ts'

interface AgentsOptions {
  config: Config
  paths: Paths
  /** This node's peer ID. */
  self: string
  /** The name by which clients ask for the model. */
  model: string
  /** Dataset rows of each environment, in the order of the config. */
  rows: readonly (readonly Row[])[]
  /** The memory plan's limit of a conversation in tokens, and the model's context. */
  conversation: MemoryPlan['conversation']
}

interface AgentsParts {
  serving: Serving
  core: NodeCore
  policy: LivePolicy
  tasks: TaskBook
  journal: Journal
  changed: Waker
  closers: Closers
  isPaused(): boolean
  /** Takes a finished group. Resolves when the group can no longer be lost. */
  onGroup(group: Group): Promise<void>
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
}

export async function openAgents(
  { config, paths, self, model, rows, conversation }: AgentsOptions,
  { core, policy, tasks, journal, changed, closers, isPaused, onGroup, ...parts }: AgentsParts,
): Promise<AgentGateway | undefined> {
  const { listen, strict, rollout_seconds: rolloutSeconds, max_open: maxOpen } = config.agents
  if (listen === undefined && config.environments.length === 0) return undefined
  const isTask = (name: string): boolean => tasks.chosen.some(({ task }) => task.name === name)
  const environments: ServedEnvironment[] = []
  for (const [i, { step_seconds: stepSeconds, use, ...choice }] of config.environments.entries()) {
    if (isTask(choice.name))
      throw new WaggleError('E_CONFIG', `environments: "${choice.name}" is a task of this node`, {
        hint: 'Give the environment another name.',
      })
    environments.push(
      use === 'openenv'
        ? await openOpenEnv(
            { ...choice, stepSeconds },
            { fetch, connect: (url) => new WebSocket(url), after: parts.after },
          )
        : await openNemoGym(
            { ...choice, rows: rows[i]!, stepSeconds },
            { fetch, now: parts.now, after: parts.after },
          ),
    )
  }
  const { tokenizer } = policy.model
  const gateway = await openGateway(
    {
      ...{ listen, strict, rolloutSeconds, maxOpen, author: self },
      ...offeredModel(policy.model, { model, context: conversation?.limit }),
      enforces: config.sampler.kind === 'engine',
      groupSize: config.rollout.group_size,
      temperature: config.rollout.temperature,
      maxNewTokens: config.model.max_completion_tokens,
    },
    {
      ...{ ...parts, tokenizer, changed, sampler: policy.sampler, token: () => tokenOf(paths.agentsToken) },
      policy: () => policy.reference(),
      isThrownAway: core.isThrownAway,
      // The same limit as for the node's own prompts: groups that wait longer would be too stale for training.
      hasRoom: (active) => !isPaused() && core.waiting('own').length + active < core.room.most,
      environments,
      isTask: (name) => isTask(name) || environments.some((one) => one.name === name),
      onGroup,
      onSampled: (call) => journal.telemetry.round(call),
      log: journal.log,
    },
  )
  closers.add(gateway.close)
  return gateway
}
