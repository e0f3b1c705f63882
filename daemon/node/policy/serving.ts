// Opens serving and connects it to the node's policy. It answers while the node is paused, too: somebody waits.

import { openServe, type Serving } from '../../agents/index.ts'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import { parameterCount } from '../../engine/decoder.ts'
import { tokenOf } from '../../http/index.ts'
import { chatDefaults } from '../../policy/files/generation-defaults.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { MemoryPlan } from '../../policy/memory-plan/index.ts'
import type { Closers } from '../begin.ts'

interface ServingOptions {
  config: Config
  paths: Pick<Paths, 'serveKey'>
  /** The name by which clients ask for the model. */
  model: string
  /** The memory plan's limit of a conversation in tokens, and the model's context. */
  conversation: MemoryPlan['conversation']
}

interface ServingParts {
  policy: Pick<LivePolicy, 'model' | 'sampler'>
  closers: Closers
  log(level: 'error', message: string): void
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
}

export async function openNodeServing(
  { config, paths, model, conversation }: ServingOptions,
  { policy, closers, ...by }: ServingParts,
): Promise<Serving> {
  const { listen, public: isPublic, origins, max_calls: maxRunning, max_waiting: maxWaiting } = config.serve
  const { tokenizer, spec, files } = policy.model
  const serving = await openServe(
    {
      ...{ listen, isPublic, origins, maxRunning, maxWaiting, model },
      enforces: config.sampler.kind === 'engine',
      sampling: config.sampler.kind === 'engine' ? chatDefaults(files.generation) : undefined,
      context: conversation?.limit ?? spec.contextLength,
      modelContext: spec.contextLength,
      vocabulary: spec.vocabulary,
      ...{ digest: policy.model.digest, parameters: parameterCount(spec) },
    },
    { ...by, tokenizer, sampler: policy.sampler, key: () => tokenOf(paths.serveKey) },
  )
  closers.add(serving.close)
  return serving
}
