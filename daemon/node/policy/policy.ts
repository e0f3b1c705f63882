// Creates the engines: two for the policy (sampler and trainer), or one beside an external sampler, one per role, and one
// per model that teaches.
// Restores the policy and the roles from the checkpoint.

import { randomUUID } from 'node:crypto'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import type { Engine } from '../../engine/engine.ts'
import { createEngines } from '../../engine/select.ts'
import { type LivePolicy, type OtherModel, openPolicy } from '../../policy/live-policy.ts'
import { TEACHER_ENGINE } from '../../policy/memory-plan/index.ts'
import type { Log } from '../../store/log.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { type Restored, restoreRole } from '../../trainer/checkpoints/checkpointing.ts'
import type { Role } from '../../trainer/roles.ts'
import { openRoleModel, type RoleWish } from '../../wiring/node-plugins.ts'
import { externalSampler } from '../../wiring/sampler.ts'
import type { Closers } from '../begin.ts'
import { optimizerOf } from '../core.ts'
import type { Models } from './models.ts'
import { openTeacherModel } from './teacher-models.ts'

interface PoliciesOptions {
  config: Config
  /** The settings as they are now. */
  settings(): Config
  paths: Paths
  env: Record<string, string | undefined>
  seed: number
  models: Models
  roles: readonly RoleWish[]
  /** Whether plugins generate texts that may end at stop strings. */
  stopStrings: boolean
  restored: Restored | undefined
  /** Number of CPU cores to use. */
  cores: number
}

export interface Policies {
  policy: LivePolicy
  roles: ReadonlyMap<string, Role>
  /** Models that only teach, by the names that plugins have for them. */
  teachers: ReadonlyMap<string, OtherModel>
  /** After a roll-back: restores each role from the checkpoint, or to its initial state. */
  restoreRoles(from: Restored | undefined): Promise<void>
}

interface PoliciesParts {
  log: Log
  closers: Closers
  onNotice(message: string): void
  fetch: typeof globalThis.fetch
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Ends a tagged answer to the built-in tasks. A base model would keep writing after it. */
const ANSWER_END = '</answer>'

export async function openPolicies(
  {
    config,
    settings,
    paths,
    env,
    seed,
    models,
    roles: wishes,
    stopStrings,
    restored,
    cores,
  }: PoliciesOptions,
  { log, closers, onNotice, fetch, sleep }: PoliciesParts,
): Promise<Policies> {
  const { model, plan, others } = models
  const { adapter, microBatchTokens, checkpointing, returnsMemory, slots, packs } = plan
  const usable = config.engine.threads || cores
  const threads = Math.max(1, Math.floor(usable / 2))
  const isExternal = config.sampler.kind !== 'engine'
  const engineOptions = {
    ...config.engine,
    ...{ threads, microBatchTokens, checkpointing, returnsMemory, packs },
    like: { ...model.spec, ...(adapter && { adapter }) },
    samplingPrecision: config.engine.sampling_precision,
    sharesThread: usable === 1,
  }
  const [trainer, ...spare] = (await createEngines(engineOptions, (isExternal ? 1 : 2) + wishes.length, {
    onNotice,
  })) as [Engine, ...Engine[]]
  const sampler = isExternal
    ? await externalSampler(
        { config, paths, model, adapter, threads, seed, run: randomUUID().slice(0, 8), env },
        { trainer, disk, fetch, sleep, onNotice: (message) => log('info', `sampler: ${message}`) },
      )
    : spare.pop()!
  const roleEngines = spare
  const stop = config.model.stop ?? (model.tokenizer.hasChatTemplate ? [] : [ANSWER_END])
  log('info', `engine: ${trainer.info.kind} on ${trainer.info.device} (${trainer.info.reason})`)
  const policy = await openPolicy(
    {
      model,
      adapter,
      state: restored?.policy,
      slots,
      isInFlight: config.rollout.in_flight_weights,
      stop,
      stopStrings: stopStrings || stop.length > 0,
    },
    { sampler, trainer },
  )
  closers.add(() => policy.close())
  if (isExternal) log('info', `sampler: ${sampler.info.kind} on ${sampler.info.device}`)

  const stateIn = (from: Restored | undefined) => async (role: Pick<Role, 'name' | 'model' | 'spec'>) =>
    from &&
    restoreRole(from, role, { disk }).catch((error: unknown) => {
      log('warn', `the role ${role.name} starts again: ${error instanceof Error ? error.message : error}`)
      return undefined
    })
  const roles = new Map<string, Role>()
  for (const [i, wish] of wishes.entries()) {
    const engine = roleEngines[i]!
    const own = others.find(({ role }) => role === wish.name)?.model ?? model
    const parts = { engine, model: own, adapter, optimizer: () => optimizerOf(settings()), seed }
    roles.set(wish.name, await openRoleModel(wish, { ...parts, restore: stateIn(restored) }))
    closers.add(() => engine.close())
  }
  const teachers = new Map<string, OtherModel>()
  for (const { name, model: teacher } of models.teachers) {
    const { slots: _, ...sizes } = TEACHER_ENGINE
    const [engine] = await createEngines({ ...engineOptions, ...sizes, packs: true }, 1, { onNotice })
    closers.add(() => engine!.close())
    teachers.set(
      name,
      await openTeacherModel(
        { model: teacher, stop: config.model.stop ?? [ANSWER_END] },
        { engine: engine!, policy: model },
      ),
    )
  }
  return {
    policy,
    roles,
    teachers,
    async restoreRoles(from) {
      for (const role of roles.values()) await role.goBack(await stateIn(from)(role))
    },
  }
}
