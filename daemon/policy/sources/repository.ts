// What models and datasets on the hub have in common: their commit and files, room on the disk, refs.

import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { HubApiError } from '@huggingface/hub'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Disk } from '../../store/disk.ts'
import { type BlobFolders, bytesThere, fetchBlob } from './blob.ts'
import { COMMIT, type RepositoryKind } from './cache.ts'
import { boundedFetch, type HubFetch, type HubFetchParts } from './hub-fetch.ts'
import { type HubFile, type ListedFile, MAX_TOTAL_BYTES } from './hub-files.ts'
import { type HubReference, showReference } from './reference.ts'

const DEFAULT_ENDPOINT = 'https://huggingface.co'
const MAX_FILES = 10_000
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** Free space to leave on the disk. */
const SPARE_BYTES = 256 * 1024 * 1024

export interface DownloadProgress {
  file: string
  /** Bytes of all files. */
  done: number
  total: number
}

export interface DownloadOptions {
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

/** Fetches files of a commit one after another, and counts their bytes together. */
export function createFileFetcher(
  {
    base,
    folders,
    signal,
    onProgress,
  }: Pick<DownloadOptions, 'signal' | 'onProgress'> & {
    /** Address of the commit's files, without a slash at its end. */
    base: string
    folders: BlobFolders
  },
  parts: { fetch: HubFetch; sleep: DownloadParts['sleep'] },
): (files: readonly HubFile[], total: number) => Promise<void> {
  let done = 0
  return async (files, total) => {
    for (const file of files) {
      const url = `${base}/${file.name.split('/').map(encodeURIComponent).join('/')}`
      const tell = () => onProgress?.({ file: file.name, done, total })
      done += await bytesThere(file, folders)
      tell()
      const onBytes = (count: number) => {
        done += count
        tell()
      }
      await fetchBlob({ file, url, folders, onBytes, signal }, parts)
    }
  }
}

/** The commit that the revision is at now, its files, and of a dataset what its card says. */
export async function lookUp(
  kind: RepositoryKind,
  hub: HubReference,
  endpoint: string,
  hubFetch: HubFetch,
): Promise<{ commit: string; listed: ListedFile[]; card: unknown }> {
  const { datasetInfo, listFiles, modelInfo } = await import('@huggingface/hub')
  const fetch = boundedFetch(hubFetch, MAX_ANSWER_BYTES)
  const at = { hubUrl: endpoint, fetch }
  const asked = { name: hub.name, revision: hub.revision, ...at }
  try {
    const { sha, cardData } =
      kind === 'models'
        ? { ...(await modelInfo({ ...asked, additionalFields: ['sha'] })), cardData: undefined }
        : await datasetInfo({ ...asked, additionalFields: ['sha', 'cardData'] })
    if (typeof sha !== 'string' || !COMMIT.test(sha)) throw new SyntaxError('its answer names no commit')
    const listed: ListedFile[] = []
    const repo = { type: kind === 'models' ? ('model' as const) : ('dataset' as const), name: hub.name }
    for await (const entry of listFiles({ repo, recursive: kind === 'datasets', revision: sha, ...at })) {
      listed.push(entry as ListedFile)
      if (listed.length > MAX_FILES) throw new RangeError(`it lists more than ${MAX_FILES} files`)
    }
    return { commit: sha, listed, card: cardData }
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    throw lookUpError(kind, hub, endpoint, cause)
  }
}

function lookUpError(kind: RepositoryKind, hub: HubReference, endpoint: string, cause: unknown): WaggleError {
  const shown = showReference(hub)
  const what = kind === 'models' ? 'model' : 'dataset'
  const { host } = new URL(endpoint)
  switch ((cause as Partial<HubApiError>).statusCode) {
    case 401:
    case 403:
      return new WaggleError(
        'E_MODEL',
        `${host} does not let this node see ${shown}: it is private, gated, or not there`,
        {
          hint: `Check the name. For a gated ${what} accept its terms on its page, and set HF_TOKEN to a token of your account.`,
          cause,
        },
      )
    case 404:
      return new WaggleError('E_MODEL', `${host} has no ${what} ${shown}`, {
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

/** Throws E_MODEL if the files have more than is ever fetched, or more than is free. */
export async function requireRoom(
  files: readonly HubFile[],
  folders: BlobFolders,
  { freeBytes }: Pick<DownloadParts, 'freeBytes'>,
): Promise<void> {
  const total = sum(files)
  if (total > MAX_TOTAL_BYTES) {
    throw new WaggleError(
      'E_MODEL',
      `the files have ${total} bytes, at most ${MAX_TOTAL_BYTES} are fetched`,
      {
        hint: 'Choose a smaller one.',
      },
    )
  }
  let missing = SPARE_BYTES
  for (const file of files) missing += file.size - (await bytesThere(file, folders))
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

/** The branch's ref: written last, so that an interrupted download is never taken for a whole one. */
export async function writeRef(
  { repository }: BlobFolders,
  { revision }: HubReference,
  commit: string,
): Promise<void> {
  if (COMMIT.test(revision)) return
  const path = join(repository, 'refs', ...revision.split('/'))
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

export function sum(files: readonly HubFile[]): number {
  return files.reduce((total, { size }) => total + size, 0)
}
