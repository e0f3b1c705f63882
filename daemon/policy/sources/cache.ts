// Hugging Face's cache on disk, shared with every other tool that knows it:
//
//   <root>/models--org--name/refs/main                     the commit that a branch or tag was at
//   <root>/models--org--name/snapshots/<commit>/config.json  -> ../../blobs/<hash>
//   <root>/models--org--name/blobs/<hash>

import { join } from 'node:path'
import { type Disk, errnoOf } from '../../store/disk.ts'
import { readIndex, WEIGHTS_FILE, WEIGHTS_INDEX_FILE } from '../safetensors/folder.ts'
import type { HubReference } from './reference.ts'

export const COMMIT = /^[0-9a-f]{40}$/

/** The cache's folder, from the same environment variables that Hugging Face's own tools use. */
export function cacheRoot(env: NodeJS.ProcessEnv, homedir: string): string {
  return env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE || join(hubHome(env, homedir), 'hub')
}

/** The folder of Hugging Face's tools. */
export const hubHome = (env: NodeJS.ProcessEnv, homedir: string): string =>
  env.HF_HOME || join(env.XDG_CACHE_HOME || join(homedir, '.cache'), 'huggingface')

export type RepositoryKind = 'models' | 'datasets'

export function repositoryFolder(root: string, name: string, kind: RepositoryKind = 'models'): string {
  return join(root, `${kind}--${name.replace('/', '--')}`)
}

/** The commit that a revision is pinned to; undefined if none was fetched. */
export async function pinnedCommit(
  repository: string,
  { revision }: HubReference,
  { disk }: { disk: Disk },
): Promise<string | undefined> {
  if (COMMIT.test(revision)) return revision
  return await readRef(join(repository, 'refs', ...revision.split('/')), disk)
}

export interface CachedModel {
  name: string
  commit: string
  /** Branches and tags that pointed to this commit when they were fetched. */
  refs: string[]
  directory: string
  /** True if everything needed to load the model is there. */
  complete: boolean
}

/** The snapshot's folder, if it is complete. Does not use the network, so a fetched model never changes. */
export async function cachedSnapshot(
  { root, hub }: { root: string; hub: HubReference },
  { disk }: { disk: Disk },
): Promise<{ directory: string; commit: string } | undefined> {
  const repository = repositoryFolder(root, hub.name)
  const commit = await pinnedCommit(repository, hub, { disk })
  if (commit === undefined) return undefined
  const directory = join(repository, 'snapshots', commit)
  return (await isComplete(directory, repository, disk)) ? { directory, commit } : undefined
}

export async function listCached(
  { root }: { root: string },
  { disk }: { disk: Disk },
): Promise<CachedModel[]> {
  const found: CachedModel[] = []
  for (const folder of (await list(root, disk)).sort()) {
    const match = /^models--([^/]+?)--([^/]+)$/.exec(folder)
    if (!match) continue
    const repository = join(root, folder)
    const refs = await list(join(repository, 'refs'), disk)
    const commits = await Promise.all(refs.map((ref) => readRef(join(repository, 'refs', ref), disk)))
    for (const commit of (await list(join(repository, 'snapshots'), disk)).filter((name) =>
      COMMIT.test(name),
    )) {
      const directory = join(repository, 'snapshots', commit)
      found.push({
        name: `${match[1]}/${match[2]}`,
        commit,
        refs: refs.filter((_, i) => commits[i] === commit),
        directory,
        complete: await isComplete(directory, repository, disk),
      })
    }
  }
  return found
}

/** Checks for a config and all weights. Other missing files are reported when the model is loaded. */
export async function isComplete(directory: string, repository: string, disk: Disk): Promise<boolean> {
  const isThere = (name: string) =>
    disk.realPath(join(directory, name)).then(
      () => true,
      () => false,
    )
  if (!(await isThere('config.json'))) return false
  if (await isThere(WEIGHTS_FILE)) return true
  try {
    const index = await readIndex(join(directory, WEIGHTS_INDEX_FILE), await disk.realPath(repository), disk)
    const shards = [...new Set(index.values())]
    return shards.length > 0 && (await Promise.all(shards.map(isThere))).every(Boolean)
  } catch {
    return false
  }
}

async function readRef(path: string, disk: Disk): Promise<string | undefined> {
  try {
    const file = await disk.open(path, 'read')
    try {
      const bytes = new Uint8Array(64)
      const text = Buffer.from(bytes.buffer, 0, await file.read(bytes, 0))
        .toString('latin1')
        .trim()
      return COMMIT.test(text) ? text : undefined
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errnoOf(error) === '') throw error
    return undefined
  }
}

async function list(path: string, disk: Disk): Promise<string[]> {
  return await disk.readDirectory(path).catch(() => [])
}
