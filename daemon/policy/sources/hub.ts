// Downloads a model from the hub into Hugging Face's cache. First pins the revision to a commit, then checks every file
// against the hash that the hub lists for that commit. Nothing that is downloaded is run. The branch's ref is written
// last, so an interrupted download is never mistaken for a model.

import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { HubApiError } from '@huggingface/hub'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Disk } from '../../store/disk.ts'
import { readIndex, WEIGHTS_FILE, WEIGHTS_INDEX_FILE } from '../safetensors/folder.ts'
import { type BlobFolders, bytesThere, fetchBlob } from './blob.ts'
import { COMMIT, repositoryFolder } from './cache.ts'
import { boundedFetch, createHubFetch, type HubFetchParts } from './hub-fetch.ts'
import { allowedFiles, type HubFile, type ListedFile, MAX_TOTAL_BYTES, noSafetensors } from './hub-files.ts'
import { type HubReference, showReference } from './reference.ts'

const DEFAULT_ENDPOINT = 'https://huggingface.co'

export interface DownloadProgress {
  file: string
  /** Bytes of the whole model. */
  done: number
  total: number
}

interface DownloadOptions {
  hub: HubReference
  /** The cache's root. */
  root: string
  endpoint?: string | undefined
  token?: string | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: DownloadProgress) => void) | undefined
}

export interface DownloadParts extends HubFetchParts {
  disk: Disk
  /** Free bytes on the disk of an existing path; undefined if unknown. */
  freeBytes(path: string): Promise<number | undefined>
}

const MAX_FILES = 10_000
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** Free space to leave on the disk. */
const SPARE_BYTES = 256 * 1024 * 1024

export async function downloadModel(
  { hub, root, endpoint, token, signal, onProgress }: DownloadOptions,
  parts: DownloadParts,
): Promise<{ directory: string; commit: string }> {
  const base = checkedEndpoint(endpoint)
  const fetch = createHubFetch({ endpoint: base, token, signal }, parts)
  const { commit, listed } = await lookUp(hub, base, boundedFetch(fetch, MAX_ANSWER_BYTES))
  const repository = repositoryFolder(root, hub.name)
  const folders: BlobFolders = { repository, snapshot: join(repository, 'snapshots', commit) }
  const files = allowedFiles(listed)

  let total = 0
  let done = 0
  const fetchAll = async (some: readonly HubFile[]): Promise<void> => {
    for (const file of some) {
      const url = `${base}/${hub.name}/resolve/${commit}/${encodeURIComponent(file.name)}`
      const tell = () => onProgress?.({ file: file.name, done, total })
      done += await bytesThere(file, folders)
      tell()
      const onBytes = (count: number) => {
        done += count
        tell()
      }
      await fetchBlob({ file, url, folders, onBytes, signal }, { fetch, sleep: parts.sleep })
    }
  }

  const isWeights = ({ name }: HubFile) => name.endsWith('.safetensors')
  const small = files.filter((file) => !isWeights(file))
  total = sum(small) + sum(files.filter(isWeights))
  await mkdir(repository, { recursive: true })
  await fetchAll(small)
  const weights = await weightsOf(files, folders, hub, listed, parts.disk)
  total = sum(small) + sum(weights)
  await requireRoom(weights, folders, parts)
  await fetchAll(weights)
  if (!COMMIT.test(hub.revision)) await writeRef(join(repository, 'refs', ...hub.revision.split('/')), commit)
  return { directory: folders.snapshot, commit }
}

async function lookUp(
  hub: HubReference,
  endpoint: string,
  fetch: typeof globalThis.fetch,
): Promise<{ commit: string; listed: ListedFile[] }> {
  const { listFiles, modelInfo } = await import('@huggingface/hub')
  try {
    const { sha } = await modelInfo({
      name: hub.name,
      revision: hub.revision,
      additionalFields: ['sha'],
      hubUrl: endpoint,
      fetch,
    })
    if (typeof sha !== 'string' || !COMMIT.test(sha)) throw new SyntaxError('its answer names no commit')
    const listed: ListedFile[] = []
    for await (const entry of listFiles({ repo: hub.name, revision: sha, hubUrl: endpoint, fetch })) {
      listed.push(entry as ListedFile)
      if (listed.length > MAX_FILES) throw new RangeError(`it lists more than ${MAX_FILES} files`)
    }
    return { commit: sha, listed }
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    throw lookUpError(hub, endpoint, cause)
  }
}

function lookUpError(hub: HubReference, endpoint: string, cause: unknown): WaggleError {
  const shown = showReference(hub)
  const { host } = new URL(endpoint)
  switch ((cause as Partial<HubApiError>).statusCode) {
    case 401:
    case 403:
      return new WaggleError(
        'E_MODEL',
        `${host} does not let this node see ${shown}: it is private, gated, or not there`,
        {
          hint: 'Check the name. For a gated model accept its terms on its page, and set HF_TOKEN to a token of your account.',
          cause,
        },
      )
    case 404:
      return new WaggleError('E_MODEL', `${host} has no model ${shown}`, {
        hint: 'Check the name and the revision, written org/name or org/name@revision.',
        cause,
      })
    default: {
      const reason = safeText(cause instanceof Error ? cause.message : String(cause), {
        limit: 160,
        line: true,
      })
      return new WaggleError('E_MODEL', `${host} does not answer as the hub does: ${reason}`, {
        hint: 'Try again later, or set HF_ENDPOINT to another mirror.',
        cause,
      })
    }
  }
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

async function requireRoom(
  weights: readonly HubFile[],
  folders: BlobFolders,
  { freeBytes }: DownloadParts,
): Promise<void> {
  const total = sum(weights)
  if (total > MAX_TOTAL_BYTES) {
    throw new WaggleError(
      'E_MODEL',
      `the weights have ${total} bytes, at most ${MAX_TOTAL_BYTES} are fetched`,
      {
        hint: 'Choose a smaller model.',
      },
    )
  }
  let missing = SPARE_BYTES
  for (const file of weights) missing += file.size - (await bytesThere(file, folders))
  const free = await freeBytes(folders.repository)
  if (free === undefined || free >= missing || missing === SPARE_BYTES) return
  const mb = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`
  throw new WaggleError(
    'E_MODEL',
    `${mb(missing)} are needed in ${folders.repository}, ${mb(free)} are free`,
    {
      hint: 'Make room, or set HF_HOME to a disk that has some.',
      data: { needed: missing, free },
    },
  )
}

async function writeRef(path: string, commit: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(`${path}.partial`, commit)
  await rename(`${path}.partial`, path)
}

/** The hub's address without a slash at its end. Throws E_MODEL if HF_ENDPOINT is none. */
export function checkedEndpoint(endpoint = DEFAULT_ENDPOINT): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url && /^https?:$/.test(url.protocol)) return endpoint.replace(/\/+$/, '')
  throw new WaggleError(
    'E_MODEL',
    `HF_ENDPOINT is "${safeText(endpoint, { limit: 80, line: true })}", which is no address`,
    {
      hint: 'Write it as https://host.',
    },
  )
}

function sum(files: readonly HubFile[]): number {
  return files.reduce((total, { size }) => total + size, 0)
}
