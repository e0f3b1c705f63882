// Where the teachers of a node come from: its checkpoints, peers' heads, other models, servers.

import { basename, dirname, join, resolve } from 'node:path'
import type { Phases } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Paths } from '../../config/paths.ts'
import type { Weights } from '../../engine/weights.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import { createTeachers, type Teachers, type TeachersParts } from '../../policy/teachers.ts'
import { trainedMeta } from '../../policy/trained.ts'
import { verifyCheckpoint } from '../../store/checkpoints/manifest.ts'
import type { Disk } from '../../store/disk.ts'
import { readWeights } from '../../trainer/checkpoints/checkpoint-files.ts'

interface OpenTeachersParts {
  policy: LivePolicy
  models: NonNullable<TeachersParts['models']>
  heads: TeachersParts['heads']
  disk: Disk
  fetch: typeof globalThis.fetch
  sleep(ms: number, signal: AbortSignal): Promise<void>
  phases: Pick<Phases, 'run'>
}

/** Requests that a server gets at a time. */
const PARALLEL = 8

/** `key` is sent to servers as a bearer token. */
export async function openTeachers(
  { paths, key }: { paths: Pick<Paths, 'config' | 'checkpoints'>; key: string | undefined },
  { policy, models, heads, disk, fetch, sleep, phases }: OpenTeachersParts,
): Promise<Teachers> {
  const { createServer, createServerTeacher } = await import('../../sampler/http/index.ts')
  const servers = new Map<string, ReturnType<typeof createServerTeacher>>()
  return createTeachers({
    ...{ policy, models, heads, phases },
    server(address) {
      const url = address.replace(/\/v1\/?$/, '')
      const known =
        servers.get(url) ??
        createServerTeacher(
          { address: url, vocabulary: policy.spec.vocabulary, parallel: PARALLEL },
          { server: createServer({ url, key }, { fetch, sleep }) },
        )
      servers.set(url, known)
      return known
    },
    checkpoint: (name) => readTeacher(folderOf(name, paths), { policy, disk }),
  })
}

/** A checkpoint of this home by its name, or any folder as seen from the config file. */
function folderOf(name: string, { config, checkpoints }: Pick<Paths, 'config' | 'checkpoints'>): string {
  return basename(name) === name ? join(checkpoints, name) : resolve(dirname(config), name)
}

/** The trained tensors of a checkpoint of the policy's lineage. Throws E_CHECKPOINT if it is another's. */
export async function readTeacher(
  directory: string,
  { policy, disk }: { policy: Pick<LivePolicy, 'model' | 'spec'>; disk: Disk },
): Promise<Weights> {
  const { lineage, meta } = await verifyCheckpoint(directory, { disk })
  const { adapter } = trainedMeta(meta)
  const isSame = lineage === policy.model.digest
  const fits = JSON.stringify(adapter ?? null) === JSON.stringify(policy.spec.adapter ?? null)
  if (!isSame || !fits)
    throw new WaggleError(
      'E_CHECKPOINT',
      `the teacher in ${directory} has ${isSame ? 'another adapter' : 'another base model'}`,
      {
        hint: 'A checkpoint can only teach a node with the same model and the same training.method, rank and targets.',
        data: { directory },
      },
    )
  return readWeights({ path: (file) => join(directory, file) }, policy.spec, disk)
}

/** Whether a plugin learns from teachers. */
export function hasTeacher({ facts }: { facts: readonly { slots: readonly string[] }[] }): boolean {
  return facts.some(({ slots }) => slots.includes('teacher'))
}
