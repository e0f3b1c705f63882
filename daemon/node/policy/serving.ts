// Opens serving and connects it to the node's policy. It answers while the node is paused, too: somebody waits.

import { join } from 'node:path'
import { bytes } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { type Conversations, offeredModel, openServe, type Serving } from '../../agents/index.ts'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import type { Sampler, Sampling } from '../../engine/engine.ts'
import { createEngines } from '../../engine/select.ts'
import { tokenOf } from '../../http/index.ts'
import { createBeside } from '../../policy/beside.ts'
import { chatDefaults } from '../../policy/files/generation-defaults.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import { type MemoryPlan, memoryHere, samplerMemory, type Work } from '../../policy/memory-plan/index.ts'
import { type Checkpoints, folderOf } from '../../store/checkpoints/checkpoints.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { Closers } from '../begin.ts'
import { readTeacher } from './teachers.ts'

interface ServingOptions {
  config: Config
  paths: Pick<Paths, 'serveKey' | 'checkpoints'>
  /** The name by which clients ask for the model. */
  model: string
  /** The memory plan's limit of a conversation in tokens, and the model's context. */
  conversation: MemoryPlan['conversation']
}

interface ServingParts {
  policy: Pick<LivePolicy, 'model' | 'spec' | 'initial' | 'sampler' | 'besides'>
  checkpoints: Pick<Checkpoints, 'manifests'>
  conversations: Conversations
  closers: Closers
  log(level: 'error', message: string): void
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
}

/** The name of the weights that the policy began with. */
const BASE = 'base'

export async function openNodeServing(
  { config, paths, model, conversation }: ServingOptions,
  { policy, closers, checkpoints, conversations, ...by }: ServingParts,
): Promise<Serving> {
  const { listen, public: isPublic, origins, max_calls: maxRunning, max_waiting: maxWaiting } = config.serve
  const { tokenizer, spec, files } = policy.model
  const context = conversation?.limit ?? spec.contextLength
  const { initial } = policy
  const beside = createBeside({
    after: by.after,
    open: () => openBeside(config, { policy, work: besideWork({ context, calls: maxRunning }) }),
    weightsOf: async (name) =>
      name === BASE ? initial : readTeacher(join(paths.checkpoints, name), { policy, disk }),
  })
  const serving = await openServe(
    {
      ...{ listen, isPublic, origins, maxRunning, maxWaiting },
      enforces: config.sampler.kind === 'engine',
      sampling: config.sampler.kind === 'engine' ? samplingOf(config, files.generation) : undefined,
      ...offeredModel(policy.model, { model, context }),
    },
    {
      ...{ ...by, tokenizer, sampler: policy.sampler, key: () => tokenOf(paths.serveKey), conversations },
      others: {
        names: async () => [BASE, ...(await checkpoints.manifests()).map(folderOf)],
        sampler: (name) => beside.of(name),
      },
    },
  )
  closers.add(async () => {
    await serving.close()
    await beside.close()
  })
  return serving
}

/** Answers that are learnt from must be drawn from the whole policy. */
function samplingOf({ agents, rollout }: Config, generation: Parameters<typeof chatDefaults>[0]): Sampling {
  return agents.learn === 'off' ? chatDefaults(generation) : { temperature: rollout.temperature }
}

/** Opens one more engine, on one thread. Throws E_ENGINE if the machine has not the memory for it. */
async function openBeside(
  config: Config,
  { work, policy }: { work: Work; policy: ServingParts['policy'] },
): Promise<Sampler> {
  const needed = samplerMemory(policy.spec, work)
  const { available } = memoryHere()
  if (needed > available)
    throw new WaggleError(
      'E_ENGINE',
      `a model beside the policy takes ${bytes(needed)}, and ${bytes(available)} are free`,
      { hint: 'Lower serve.max_calls or agents.max_tokens, or run `waggle serve` on another machine.' },
    )
  const [engine] = await createEngines({ ...config.engine, threads: 1 }, 1)
  return policy.besides(engine!)
}

/** All calls may be as long as a conversation. Nothing is trained. */
function besideWork({ context, calls }: { context: number; calls: number }): Work {
  return {
    ...{ prompt: context, completion: 0, groupSize: 1, slots: calls },
    ...{ microBatchTokens: 2048, checkpointing: false, mixes: false },
  }
}
