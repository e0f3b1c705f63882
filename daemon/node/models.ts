// The model that a node starts from and those of its plugins' roles: found, fetched where they are not here, loaded, and planned
// into the memory that there is before their weights are read.

import { dirname } from 'node:path'
import type { Task } from '../../protocol/plugin/index.ts'
import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import { loadOtherModels, type RoleWish } from '../node-plugins.ts'
import { type MemoryPlan, memoryHere, planMemory, planText, wishOf } from '../policy/memory-plan/index.ts'
import { loadModel, type Model } from '../policy/model.ts'
import { type FoundModel, findModel } from '../policy/sources/find.ts'
import type { DownloadProgress } from '../policy/sources/hub.ts'
import { trainedMeta } from '../policy/trained.ts'
import { sampleQuestions } from '../rollout/tasks.ts'
import type { Checkpoint } from '../store/checkpoints.ts'
import type { Log } from '../store/log.ts'
import { nodeDisk as disk } from '../store/node-disk.ts'
import { freeBytes } from './disk-space.ts'

export interface ModelsOptions {
  config: Config
  paths: Paths
  tasks: readonly Task[]
  roles: readonly RoleWish[]
  /** That the node continues. */
  latest: Checkpoint | undefined
  /** Folder of the model that comes along. */
  bundled: string
  env: Record<string, string | undefined>
  homedir: string
}

export interface ModelsParts {
  log: Log
  signal: AbortSignal
  /** A line on what start-up is doing. */
  tell(message: string): void
  fetch: typeof globalThis.fetch
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface Models {
  found: FoundModel
  model: Model
  plan: MemoryPlan
  /** Of roles that have another than the node's own. */
  others: readonly { role: string; model: Model }[]
}

export async function openModels(
  { config, paths, tasks, roles, latest, bundled, env, homedir }: ModelsOptions,
  { log, signal, tell, fetch, sleep }: ModelsParts,
): Promise<Models> {
  const find = (reference: string) =>
    findModel(
      {
        reference,
        bundled,
        base: dirname(paths.config),
        env,
        homedir,
        signal,
        onProgress: eachTenth((percent) => tell(`fetching ${reference}: ${percent} %`)),
      },
      { disk, fetch, sleep: (ms, until) => sleep(ms, until ?? signal), freeBytes },
    )
  const found = await find(config.model.path)
  tell(`loading the model ${found.directory}`)
  const others = await loadOtherModels(roles, config, find)
  let plan: MemoryPlan | undefined
  const model = await loadModel(found.directory, { disk }, ({ spec, tokenizer }) => {
    const wish = wishOf({
      config,
      questions: sampleQuestions(tasks, config.tasks),
      tokenizer,
      checkpoint: latest && trainedMeta(latest.manifest.meta),
      memory: memoryHere(),
      roles: roles.filter((role) => role.model === undefined).length,
      taken: others.reduce((sum, { bytes }) => sum + bytes, 0),
    })
    plan = planMemory(found.name, spec, wish)
  })
  log('info', planText(plan!))
  return { found, model, plan: plan!, others }
}

/** A line for every tenth of a download. */
function eachTenth(tell: (percent: number) => void): (progress: DownloadProgress) => void {
  let told = 0
  return ({ done, total }) => {
    const percent = Math.floor((10 * done) / Math.max(1, total)) * 10
    if (percent <= told) return
    told = percent
    tell(percent)
  }
}
