// The composition root's part for plugins: the host from the config, and the models of roles beside the policy.

import { dirname } from 'node:path'
import { WaggleError } from '../protocol/errors.ts'
import type { Plugin, Task } from '../protocol/plugin/index.ts'
import type { Config } from './config/schema.ts'
import { ADAPTER_TARGETS, type AdapterSpec } from './engine/decoder.ts'
import type { Engine, TrainRequest } from './engine/engine.ts'
import { createHost, type Host, type HostCollaborators } from './host/host.ts'
import { createPluginFiles } from './host/plugin-files.ts'
import { randomStream } from './host/random.ts'
import { hostOptions } from './plugin-config.ts'
import { initialAdapter } from './policy/adapter.ts'
import { roleMemory, withAdapter } from './policy/memory-plan/index.ts'
import { loadModel, type Model } from './policy/model.ts'
import { nodeDisk as disk } from './store/node-disk.ts'
import { openRole, type Role, type RoleState } from './trainer/roles.ts'

export function openHost(
  {
    config,
    seed,
    tasks,
    paths,
  }: { config: Config; seed: number; tasks: readonly Task[]; paths: { config: string; plugins: string } },
  by: Omit<HostCollaborators, 'importPlugin'> & { builtIn: readonly Plugin[] },
): Promise<Host> {
  const files = createPluginFiles({ base: dirname(paths.config), plugins: paths.plugins })
  return createHost({ ...hostOptions(config, tasks), seed }, { ...by, ...files })
}

export interface RoleWish {
  name: string
  trainable: boolean
  /** Undefined: the node's own model. */
  model: string | undefined
  learningRate: number
}

/** Roles that the plugins have, as the config wants them. Throws E_CONFIG for one that no plugin has. */
export function rolesOf({ facts }: Pick<Host, 'facts'>, { roles, training }: Config): RoleWish[] {
  const wanted = facts.flatMap((plugin) => plugin.roles)
  const unknown = roles.find(({ name }) => !wanted.some((role) => role.name === name))
  if (unknown) {
    throw new WaggleError('E_CONFIG', `no plugin of this config has a role "${unknown.name}"`, {
      hint:
        wanted.length === 0
          ? 'Take [[roles]] out of the config.'
          : `Roles are ${wanted.map(({ name }) => name).join(', ')}.`,
    })
  }
  return wanted.map(({ name, trainable }) => {
    const given = roles.find((role) => role.name === name)
    return {
      name,
      trainable,
      model: given?.model,
      learningRate: given?.learning_rate ?? training.learning_rate,
    }
  })
}

/** Role models that are not the node's own, with the memory that each takes beside its weights. */
export async function loadOtherModels(
  roles: readonly RoleWish[],
  { model, engine, rollout, training }: Config,
  find: (reference: string) => Promise<{ directory: string }>,
): Promise<{ role: string; model: Model; bytes: number }[]> {
  const others = []
  for (const { name, model: reference } of roles) {
    if (reference === undefined) continue
    const loaded = await loadModel((await find(reference)).directory, { disk })
    const adapter: AdapterSpec = {
      rank: training.lora_rank,
      alpha: training.lora_alpha,
      targets: [...ADAPTER_TARGETS],
    }
    const bytes = roleMemory(withAdapter(loaded.spec, training.method === 'lora' ? adapter : undefined), {
      prompt: loaded.spec.contextLength >> 1,
      completion: model.max_completion_tokens,
      groupSize: rollout.group_size,
      slots: rollout.group_size,
      microBatchTokens: engine.micro_batch_tokens || 512,
      checkpointing: false,
      mixes: false,
    })
    others.push({ role: name, model: loaded, bytes })
  }
  return others
}

export interface RoleParts {
  engine: Engine
  model: Model
  adapter: AdapterSpec | undefined
  optimizer: TrainRequest['optimizer']
  seed: number
  /** Of the checkpoint that the node continues; what it gives belongs to the model, or nothing does. */
  restore(role: Pick<Role, 'name' | 'model' | 'spec'>): Promise<RoleState | undefined>
}

export async function openRoleModel(
  { name, trainable, learningRate }: RoleWish,
  { engine, model, adapter, optimizer, seed, restore }: RoleParts,
): Promise<Role> {
  const spec = adapter ? { ...model.spec, adapter } : model.spec
  const initial = adapter
    ? { ...model.weights, ...initialAdapter(spec, randomStream(seed, `role/${name}`)) }
    : model.weights
  const state = await restore({ name, model: model.digest, spec })
  return openRole(
    { name, trainable, model: model.digest, spec, initial, state, optimizer: { ...optimizer, learningRate } },
    { engine, tokenizer: model.tokenizer },
  )
}
