// Creates the plugin host and the role models from the config.

import { dirname } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import type { Plugin, Task } from '../../protocol/plugin/index.ts'
import type { Config } from '../config/schema.ts'
import type { AdapterSpec } from '../engine/decoder.ts'
import type { Engine, TrainRequest } from '../engine/engine.ts'
import { createPluginHost, type PluginHost, type PluginHostParts } from '../host/host.ts'
import { randomStream } from '../host/random.ts'
import { initialAdapter } from '../policy/adapter.ts'
import { roleMemory, withAdapter } from '../policy/memory-plan/index.ts'
import { loadModel, type Model, type StoredModel } from '../policy/model.ts'
import { nodeDisk as disk } from '../store/node-disk.ts'
import { openRole, type Role, type RoleState } from '../trainer/roles.ts'
import { guardedFiles } from './guarded.ts'
import { hostOptions } from './plugin-config.ts'

export function openHost(
  {
    config,
    seed,
    tasks,
    paths,
  }: { config: Config; seed: number; tasks: readonly Task[]; paths: { config: string; plugins: string } },
  parts: Omit<PluginHostParts, 'importPlugin'> & { builtIn: readonly Plugin[] },
): Promise<PluginHost> {
  const files = guardedFiles({ base: dirname(paths.config), plugins: paths.plugins })
  return createPluginHost({ ...hostOptions(config, tasks), seed }, { ...parts, ...files })
}

export interface RoleWish {
  name: string
  trainable: boolean
  /** Undefined means the node's model. */
  model: string | undefined
  /** Undefined means training.learning_rate, which may change. */
  learningRate: number | undefined
}

/** The roles that plugins have, with their config. Throws E_CONFIG for a configured role that no plugin has. */
export function rolesOf({ facts }: Pick<PluginHost, 'facts'>, { roles }: Config): RoleWish[] {
  const wanted = facts.flatMap((plugin) => plugin.roles)
  const unknown = roles.find(({ name }) => !wanted.some((role) => role.name === name))
  if (unknown) {
    throw new WaggleError('E_CONFIG', `no plugin of this config has a role "${unknown.name}"`, {
      hint:
        wanted.length === 0
          ? 'Remove [[roles]] from the config.'
          : `Roles are ${wanted.map(({ name }) => name).join(', ')}.`,
    })
  }
  return wanted.map(({ name, trainable }) => {
    const given = roles.find((role) => role.name === name)
    return { name, trainable, model: given?.model, learningRate: given?.learning_rate }
  })
}

/** Loads role models that differ from the node's model. */
export async function loadOtherModels(
  roles: readonly RoleWish[],
  find: (reference: string) => Promise<{ directory: string }>,
): Promise<{ role: string; model: Model }[]> {
  const others = []
  for (const { name, model: reference } of roles) {
    if (reference === undefined) continue
    others.push({ role: name, model: await loadModel((await find(reference)).directory, { disk }) })
  }
  return others
}

/** Memory that such models need besides their weights, if this adapter is trained, or all parameters without one. */
export function otherMemory(
  others: readonly { model: Model }[],
  { model, engine, rollout }: Config,
  adapter: AdapterSpec | undefined,
): number {
  const bytes = others.map(({ model: { spec } }) =>
    roleMemory(withAdapter(spec, adapter), {
      prompt: spec.contextLength >> 1,
      completion: model.max_completion_tokens,
      slots: rollout.group_size,
      microBatchTokens: engine.micro_batch_tokens || 512,
      checkpointing: false,
      mixes: false,
    }),
  )
  return bytes.reduce((sum, one) => sum + one, 0)
}

interface RoleParts {
  engine: Engine
  model: StoredModel
  adapter: AdapterSpec | undefined
  /** The current optimizer settings. */
  optimizer(): TrainRequest['optimizer']
  seed: number
  /** State from the restored checkpoint; undefined if there is none for this model. */
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
  const own = (): TrainRequest['optimizer'] => {
    const now = optimizer()
    return { ...now, learningRate: learningRate ?? now.learningRate }
  }
  return openRole(
    { name, trainable, model: model.digest, spec, initial, state, optimizer: own },
    { engine, tokenizer: model.tokenizer },
  )
}
