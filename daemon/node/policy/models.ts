// Finds, downloads and loads the node's model and the models of plugin roles. The memory plan is made before any
// weights are read.

import { basename, dirname } from 'node:path'
import type { Phases } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import { isOnProcessor } from '../../engine/select.ts'
import { baseFacts } from '../../policy/files/base-facts.ts'
import { bytesIn } from '../../policy/files/base-weights.ts'
import { type MemoryPlan, memoryHere, planMemory, planText, wishOf } from '../../policy/memory-plan/index.ts'
import { loadDecoderAs, loadModelAs, type Model, type StoredModel } from '../../policy/model.ts'
import { type FoundModel, findModel } from '../../policy/sources/find.ts'
import type { DownloadProgress } from '../../policy/sources/repository.ts'
import { type TrainedBase, trainedMeta } from '../../policy/trained.ts'
import { sampleQuestions } from '../../rollout/tasks.ts'
import type { Manifest } from '../../store/checkpoints/checkpoints.ts'
import type { Log } from '../../store/log.ts'
import { nodeDisk as disk, freeBytes } from '../../store/node-disk.ts'
import { sizeOf, WEIGHT_FILES, watchedDisk } from '../../store/watched-disk.ts'
import { loadOtherModels, otherMemory, type RoleWish } from '../../wiring/node-plugins.ts'
import { findTeachers, loadTeacher, type TeacherModel } from './teacher-models.ts'

interface ModelsOptions {
  config: Config
  paths: Paths
  tasks: readonly Task[]
  roles: readonly RoleWish[]
  /** Plugins may ask teachers for answers. */
  writes: boolean
  /** Models that plugins ask as teachers. */
  teachers: readonly string[]
  /** Of the checkpoints in this home, newest first. */
  checkpoints: readonly Manifest[]
  /** The lineage that the model must have; undefined for any. */
  lineage: string | undefined
  /** Folder of the bundled model. */
  bundled: string
  env: Record<string, string | undefined>
  homedir: string
}

interface ModelsParts {
  log: Log
  signal: AbortSignal
  phases: Pick<Phases, 'run'>
  /** Reports progress during the start. */
  tell(message: string): void
  fetch: typeof globalThis.fetch
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface Models {
  found: FoundModel
  /** As checkpoints record it. */
  base: TrainedBase & { title: string }
  model: StoredModel
  plan: MemoryPlan
  /** Role models that differ from the node's model. */
  others: readonly { role: string; model: Model }[]
  teachers: readonly TeacherModel[]
}

export async function openModels(
  { config, paths, tasks, roles, checkpoints, lineage, bundled, env, homedir, ...asked }: ModelsOptions,
  { log, signal, phases, tell, fetch, sleep }: ModelsParts,
): Promise<Models> {
  const find = (reference: string) =>
    phases.run('download', { unit: 'bytes' }, (at) => findIt(reference, ({ done, total }) => at(done, total)))
  const findIt = (reference: string, onProgress: (progress: DownloadProgress) => void) =>
    findModel(
      {
        reference,
        bundled,
        base: dirname(paths.config),
        env,
        homedir,
        signal,
        onProgress,
      },
      { disk, fetch, sleep: (ms, until) => sleep(ms, until ?? signal), freeBytes },
    )
  const found = await find(config.model.path)
  tell(`loading the model ${basename(found.name)}`)
  const others = await loadOtherModels(roles, find)
  const questions = sampleQuestions(tasks, config.tasks)
  const teachers = await findTeachers(
    { names: asked.teachers, questions, completion: config.model.max_completion_tokens },
    { find, disk },
  )
  let plan: MemoryPlan | undefined
  const total = await sizeOf(found.directory, WEIGHT_FILES, { disk })
  const load = (latest: Manifest | undefined): Promise<StoredModel> =>
    phases.run('load', { unit: 'bytes', total }, (at) =>
      loadModelAs(found.directory, { disk: watchedDisk(disk, at) }, ({ spec, tokenizer, tensors }) => {
        const wish = wishOf({
          config,
          questions,
          contextLength: spec.contextLength,
          tokenizer,
          checkpoint: latest && trainedMeta(latest.meta),
          memory: memoryHere(),
          isOnProcessor: isOnProcessor(config.engine),
          baseBytes: (precision) => bytesIn(tensors, spec, precision),
          roles: roles.filter((role) => role.model === undefined).length,
          teachersWrite: asked.writes,
          teachers: teachers.reduce((sum, { bytes }) => sum + bytes, 0),
          taken: (adapter) => otherMemory(others, config, adapter),
        })
        plan = planMemory(found.name, spec, wish)
        return plan.base
      }),
    )
  const expected = await newestFor(found, checkpoints)
  let model = await load(expected)
  if (lineage !== undefined && lineage !== model.digest) throw changedModel(found)
  // The file has changed since, so this is another model.
  if (expected !== undefined && expected.lineage !== model.digest)
    model = await load(checkpoints.find((one) => one.lineage === model.digest))
  log('info', planText(plan!))
  const base = { ...found, ...(await baseFacts(found, { disk })) }
  const loaded: TeacherModel[] = []
  for (const one of teachers) loaded.push(await loadTeacher(one, { disk, phases, tell }))
  return { found, base, model, plan: plan!, others, teachers: loaded }
}

/**
 * The newest checkpoint of a model. It is looked for by place first, since a digest takes reading all weights; then by
 * digest, since the model may have moved.
 */
async function newestFor(
  { directory }: FoundModel,
  checkpoints: readonly Manifest[],
): Promise<Manifest | undefined> {
  const here = checkpoints.find(({ meta }) => trainedMeta(meta).base?.directory === directory)
  if (here !== undefined || checkpoints.length === 0) return here
  const { digest } = await loadDecoderAs(directory, { disk }, 'file')
  return checkpoints.find(({ lineage }) => lineage === digest)
}

function changedModel({ directory, name }: FoundModel): WaggleError {
  return new WaggleError(
    'E_CHECKPOINT',
    `this home continues the model ${name}, and ${directory} is another one by now`,
    {
      hint: `Put the old model back, or begin with the new one: \`waggle up --model ${name}\`. The checkpoints of the old one stay.`,
      data: { directory },
    },
  )
}
