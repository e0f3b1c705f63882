// Resolves `model.path` to something that can be loaded: the bundled model, a folder, a GGUF file, a snapshot in
// Hugging Face's cache, or a new download from the hub.

import { existsSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { cachedSnapshot, cacheRoot } from './cache.ts'
import { downloadModel } from './hub.ts'
import { parseReference, showReference } from './reference.ts'
import type { DownloadParts, DownloadProgress } from './repository.ts'
import { hubToken } from './token.ts'

interface FindOptions {
  /** As in the config: `default`, a folder, a GGUF file, or `org/name[@revision]`. */
  reference: string
  /** Folder of the bundled model. */
  bundled: string
  /** Folder that relative paths start from. */
  base: string
  env: NodeJS.ProcessEnv
  homedir: string
  signal?: AbortSignal | undefined
  /** Ask the hub even if there is a snapshot, because a branch may have moved. */
  refresh?: boolean
  onProgress?: ((progress: DownloadProgress) => void) | undefined
}

export interface FoundModel {
  /** The folder, or the GGUF file. */
  directory: string
  /** The name to display: `default`, the folder, or the name on the hub. */
  name: string
  /** Commit on the hub. */
  commit?: string
}

export async function findModel(options: FindOptions, parts: DownloadParts): Promise<FoundModel> {
  const { reference, base, env } = options
  const local = reference.replace(/^~(?=[\\/]|$)/, options.homedir)
  const folder = isAbsolute(local) ? local : resolve(base, local)
  const parsed = parseReference(reference, () => existsSync(folder))
  if (parsed.kind === 'bundled') return { directory: options.bundled, name: 'default' }
  if (parsed.kind === 'directory') return { directory: folder, name: folder }

  const { hub } = parsed
  const root = cacheRoot(env, options.homedir)
  const there = options.refresh ? undefined : await cachedSnapshot({ root, hub }, parts)
  if (there) return { ...there, name: showReference(hub) }
  if (/^(1|true|yes|on)$/i.test(env.HF_HUB_OFFLINE ?? '')) {
    throw new WaggleError('E_MODEL', `${showReference(hub)} is not in ${root}, and HF_HUB_OFFLINE is set`, {
      hint: 'Unset HF_HUB_OFFLINE to fetch it, or give a folder. There is no folder of that name here.',
    })
  }
  const fetched = await downloadModel(
    {
      hub,
      root,
      endpoint: env.HF_ENDPOINT || undefined,
      token: hubToken(env, options.homedir),
      signal: options.signal,
      onProgress: options.onProgress,
    },
    parts,
  )
  return { ...fetched, name: showReference(hub) }
}

/** Path of the bundled model in the package. */
export function bundledModel(packageRoot: string): string {
  return join(packageRoot, 'models', 'default')
}
