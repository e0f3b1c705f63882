// Downloads a model from the hub into Hugging Face's cache. First pins the revision to a commit, then checks every file
// against the hash that the hub lists for that commit. Nothing that is downloaded is run. The branch's ref is written
// last, so an interrupted download is never mistaken for a model.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Disk } from '../../store/disk.ts'
import { readIndex, WEIGHTS_FILE, WEIGHTS_INDEX_FILE } from '../safetensors/folder.ts'
import type { BlobFolders } from './blob.ts'
import { repositoryFolder } from './cache.ts'
import { createHubFetch } from './hub-fetch.ts'
import { allowedFiles, type HubFile, type ListedFile, noSafetensors } from './hub-files.ts'
import type { HubReference } from './reference.ts'
import {
  checkedEndpoint,
  createFileFetcher,
  type DownloadOptions,
  type DownloadParts,
  lookUp,
  requireRoom,
  sum,
  writeRef,
} from './repository.ts'

export async function downloadModel(
  { hub, root, endpoint, token, signal, onProgress }: DownloadOptions,
  parts: DownloadParts,
): Promise<{ directory: string; commit: string }> {
  const base = checkedEndpoint(endpoint)
  const fetch = createHubFetch({ endpoint: base, token, signal }, parts)
  const { commit, listed } = await lookUp('models', hub, base, fetch)
  const repository = repositoryFolder(root, hub.name)
  const folders: BlobFolders = { repository, snapshot: join(repository, 'snapshots', commit) }
  const files = allowedFiles(listed)
  const fetchAll = createFileFetcher(
    { base: `${base}/${hub.name}/resolve/${commit}`, folders, signal, onProgress },
    { fetch, sleep: parts.sleep },
  )
  const isWeights = ({ name }: HubFile) => name.endsWith('.safetensors')
  const small = files.filter((file) => !isWeights(file))
  await mkdir(repository, { recursive: true })
  await fetchAll(small, sum(small) + sum(files.filter(isWeights)))
  const weights = await weightsOf(files, folders, hub, listed, parts.disk)
  await requireRoom(weights, folders, parts)
  await fetchAll(weights, sum(small) + sum(weights))
  await writeRef(folders, hub, commit)
  return { directory: folders.snapshot, commit }
}

/** model.safetensors, or the shards named by the index, which was fetched before. */
async function weightsOf(
  files: readonly HubFile[],
  folders: BlobFolders,
  hub: HubReference,
  listed: readonly ListedFile[],
  disk: Disk,
): Promise<HubFile[]> {
  const find = (name: string) => files.find((file) => file.name === name)
  const single = find(WEIGHTS_FILE)
  if (single) return [single]
  if (!find(WEIGHTS_INDEX_FILE)) throw noSafetensors(hub.name, listed)
  const index = await readIndex(
    join(folders.snapshot, WEIGHTS_INDEX_FILE),
    await disk.realPath(folders.repository),
    disk,
  )
  return [...new Set(index.values())].map((shard) => {
    const file = find(shard)
    if (file) return file
    throw new WaggleError('E_MODEL', `${hub.name}: the index names ${shard}, which the hub does not have`, {
      hint: 'The repository is not whole. Look for another revision.',
    })
  })
}
