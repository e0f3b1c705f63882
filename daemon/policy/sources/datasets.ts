// Finds a dataset on the hub: files in Hugging Face's cache, or a new download into it. What was fetched stays at its
// commit, as models do.

import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { WaggleError } from '../../../protocol/errors.ts'
import { writeFileWhole } from '../../store/atomic.ts'
import type { BlobFolders } from './blob.ts'
import { cacheRoot, pinnedCommit, repositoryFolder } from './cache.ts'
import { createHubFetch } from './hub-fetch.ts'
import { allowedFiles, DATASET_FILES } from './hub-files.ts'
import { type HubReference, hubReference, showReference } from './reference.ts'
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
import { chooseFiles, type Part } from './splits.ts'
import { hubToken } from './token.ts'

const SCHEME = 'hf://datasets/'

export interface FoundDataset {
  /** `hf://datasets/org/name@commit`. */
  name: string
  /** Files to read, in order. */
  files: string[]
}

interface FindDatasetOptions extends Pick<DownloadOptions, 'signal' | 'onProgress'> {
  /** `hf://datasets/org/name[@revision]`. */
  reference: string
  part: Part
  env: NodeJS.ProcessEnv
  homedir: string
}

/** Rejects with E_DATASET. */
export async function findDataset(options: FindDatasetOptions, parts: DownloadParts): Promise<FoundDataset> {
  try {
    return await find(options, parts)
  } catch (error) {
    // The hub's parts speak of models.
    if (!(error instanceof WaggleError) || error.code === 'E_DATASET') throw error
    throw new WaggleError('E_DATASET', `${options.reference}: ${error.message}`, {
      ...(error.hint !== undefined && { hint: error.hint }),
      cause: error,
    })
  }
}

async function find(
  { reference, part, env, homedir, signal, onProgress }: FindDatasetOptions,
  parts: DownloadParts,
): Promise<FoundDataset> {
  const hub = hubOf(reference)
  const root = cacheRoot(env, homedir)
  const repository = repositoryFolder(root, hub.name, 'datasets')
  const pinned = await pinnedCommit(repository, hub, parts)
  const there = pinned && (await kept({ repository, hub, commit: pinned, part }, parts))
  if (there) return there
  if (/^(1|true|yes|on)$/i.test(env.HF_HUB_OFFLINE ?? ''))
    throw new WaggleError(
      'E_DATASET',
      `${showPart(hub, part)} is not in ${root}, and HF_HUB_OFFLINE is set`,
      {
        hint: 'Unset HF_HUB_OFFLINE to fetch it, or give a file.',
      },
    )
  const base = checkedEndpoint(env.HF_ENDPOINT || undefined)
  const fetch = createHubFetch({ endpoint: base, token: hubToken(env, homedir), signal }, parts)
  const { commit, listed, card } = await lookUp(
    'datasets',
    // Another split comes from the same commit.
    { ...hub, revision: pinned ?? hub.revision },
    base,
    fetch,
  )
  const all = allowedFiles(listed, DATASET_FILES)
  const chosen = chooseFiles(part, { listed: all.map(({ name }) => name), told: card })
  if ('problem' in chosen)
    throw new WaggleError('E_DATASET', `${showReference(hub)}: ${chosen.problem}`, {
      hint: `Set "subset" and "split" of the task. ${base}/datasets/${hub.name} shows them.`,
    })
  const files = all.filter(({ name }) => chosen.files.includes(name))
  const folders: BlobFolders = { repository, snapshot: join(repository, 'snapshots', commit) }
  await mkdir(repository, { recursive: true })
  await requireRoom(files, folders, parts)
  await createFileFetcher(
    { base: `${base}/datasets/${hub.name}/resolve/${commit}`, folders, signal, onProgress },
    { fetch, sleep: parts.sleep },
  )(files, sum(files))
  await mkdir(join(repository, 'waggle'), { recursive: true })
  await writeFileWhole(
    { path: recordPath(repository, commit, part), content: Buffer.from(JSON.stringify(chosen.files)) },
    parts,
  )
  await writeRef(folders, hub, commit)
  return found(hub, commit, folders.snapshot, chosen.files)
}

function hubOf(reference: string): HubReference {
  const hub = reference.startsWith(SCHEME) ? hubReference(reference.slice(SCHEME.length)) : undefined
  if (hub) return hub
  throw new WaggleError('E_DATASET', `"${reference}" names no dataset on the hub`, {
    hint: 'Write hf://datasets/org/name or hf://datasets/org/name@revision; "subset" and "split" are keys of their own.',
  })
}

const found = (
  { name }: HubReference,
  commit: string,
  snapshot: string,
  files: readonly string[],
): FoundDataset => ({
  name: `${SCHEME}${name}@${commit}`,
  files: files.map((file) => join(snapshot, file)),
})

const showPart = (hub: HubReference, { subset, split }: Part): string =>
  `${showReference(hub)} (${subset === undefined ? '' : `${subset}, `}${split})`

/** Which files were chosen, so that nothing has to be asked again. */
const recordPath = (repository: string, commit: string, { subset, split }: Part): string =>
  join(repository, 'waggle', `${[commit, split, subset ?? ''].map(encodeURIComponent).join(' ')}.json`)

const record = z.array(z.string().regex(DATASET_FILES[0]![0])).min(1).max(10_000)

/** What an earlier download chose, if all of it is still there. */
async function kept(
  { repository, hub, commit, part }: { repository: string; hub: HubReference; commit: string; part: Part },
  parts: DownloadParts,
): Promise<FoundDataset | undefined> {
  const text = await readFile(recordPath(repository, commit, part), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  let files: string[] | undefined
  try {
    files = record.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
  if (!files) return undefined
  const there = found(hub, commit, join(repository, 'snapshots', commit), files)
  const facts = await Promise.all(there.files.map((file) => parts.disk.realPath(file).catch(() => undefined)))
  return facts.includes(undefined) ? undefined : there
}
