// Finds the folder of `model.path` and the files of datasets for commands. Downloads what is missing and shows a
// progress bar.

import { WaggleError } from '../../../protocol/errors.ts'
import { sleep } from '../../platform/index.ts'
import { type CachedModel, cacheRoot, listCached } from '../../policy/sources/cache.ts'
import { findDataset } from '../../policy/sources/datasets.ts'
import { bundledModel, type FoundModel, findModel } from '../../policy/sources/find.ts'
import { type LocalModel, listLocal } from '../../policy/sources/local.ts'
import { hubReference } from '../../policy/sources/reference.ts'
import type { DownloadParts } from '../../policy/sources/repository.ts'
import { nodeDisk as disk, freeBytes } from '../../store/node-disk.ts'
import type { LoadParts } from '../../wiring/datasets.ts'
import type { Context } from '../contract.ts'
import { withProgress } from '../text/progress.ts'

export const fromHere: DownloadParts = {
  disk,
  fetch: (input, init) => fetch(input, init),
  sleep,
  freeBytes,
}

export async function locateModel(
  context: Context,
  reference: string,
  { refresh = false }: { refresh?: boolean } = {},
): Promise<FoundModel> {
  const { io } = context
  const stop = new AbortController()
  const off = io.onSignal(() => stop.abort())
  try {
    return await withProgress(context, 'download', { unit: 'bytes' }, (at) =>
      findModel(
        {
          reference,
          bundled: bundledModel(io.packageRoot),
          base: io.cwd,
          env: io.env,
          homedir: io.homedir,
          signal: stop.signal,
          refresh,
          onProgress: ({ done, total }) => at(done, total),
        },
        fromHere,
      ),
    )
  } finally {
    off()
  }
}

/** Fetches a model from the hub, or what is new of it. Throws E_USAGE for what cannot be a name there. */
export async function pullModel(context: Context, name: string): Promise<FoundModel> {
  if (hubReference(name) !== undefined) return await locateModel(context, name, { refresh: true })
  throw new WaggleError('E_USAGE', `"${name}" is no name on the hub`, {
    hint: 'Give org/name or org/name@revision, such as Qwen/Qwen2.5-0.5B-Instruct. A folder or a GGUF file needs no download: name it with --model.',
  })
}

/** Parts of `loadTasks`: datasets on the hub are found or fetched, and a bar shows how far long reading is. */
export function datasetParts(context: Context): Required<Pick<LoadParts, 'find' | 'onRead'>> {
  const { io } = context
  return {
    async find(reference, part) {
      const stop = new AbortController()
      const off = io.onSignal(() => stop.abort())
      try {
        return await withProgress(context, 'download', { unit: 'bytes' }, (at) =>
          findDataset(
            {
              ...{ reference, part, env: io.env, homedir: io.homedir, signal: stop.signal },
              onProgress: ({ done, total }) => at(done, total),
            },
            fromHere,
          ),
        )
      } finally {
        off()
      }
    },
    onRead: (read) => withProgress(context, 'load', { unit: 'bytes' }, read),
  }
}

interface ModelsHere {
  /** Folder of Hugging Face's cache. */
  root: string
  models: CachedModel[]
  /** GGUF files of other programs. */
  local: LocalModel[]
}

/** Models that need no download. */
export async function listHere({ io }: Context): Promise<ModelsHere> {
  const root = cacheRoot(io.env, io.homedir)
  const [models, local] = await Promise.all([listCached({ root }, { disk }), listLocal(io, { disk })])
  return { root, models, local }
}
