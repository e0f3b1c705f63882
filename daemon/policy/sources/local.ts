// GGUF files that other programs have on this disk: Ollama, LM Studio, and Hugging Face's cache.
//
//   Ollama      <root>/manifests/<registry>/<namespace>/<name>/<tag>, JSON that names <root>/blobs/sha256-<hash>
//   LM Studio   <root>/<publisher>/<name>/<file>.gguf
//   the cache   <root>/models--org--name/snapshots/<commit>/<file>.gguf

import { basename, join, relative, sep } from 'node:path'
import { type Disk, errnoOf } from '../../store/disk.ts'
import { cacheRoot } from './cache.ts'

export interface LocalModel {
  /** The name that its program gives it. */
  name: string
  from: 'Ollama' | 'LM Studio' | 'hub'
  /** The GGUF file, as for --model. */
  path: string
  bytes: number
}

interface UserFolders {
  env: NodeJS.ProcessEnv
  homedir: string
}

/** A manifest has a few hundred bytes. */
const MAX_MANIFEST_BYTES = 64 * 1024
/** Most entries to look at in one program's folders. */
const MAX_ENTRIES = 10_000
const OLLAMA_MODEL = 'application/vnd.ollama.image.model'

/** Sorted by program and name. Models that cannot be read are left out. */
export async function listLocal(user: UserFolders, { disk }: { disk: Disk }): Promise<LocalModel[]> {
  const found: LocalModel[] = []
  for (const root of ollamaRoots(user)) found.push(...(await ollamaModels(root, disk)))
  for (const root of lmStudioRoots(user)) found.push(...(await ggufFiles(root, 'LM Studio', 3, disk)))
  const hub = cacheRoot(user.env, user.homedir)
  for (const model of await ggufFiles(hub, 'hub', 4, disk)) {
    const match = /^models--([^/]+?)--([^/]+)\/snapshots\/[0-9a-f]{40}\/(.+)$/.exec(model.name)
    if (match) found.push({ ...model, name: `${match[1]}/${match[2]}/${match[3]}` })
  }
  return found
}

function ollamaRoots({ env, homedir }: UserFolders): string[] {
  // The second is where Ollama's system service on Linux keeps its models.
  return env.OLLAMA_MODELS
    ? [env.OLLAMA_MODELS]
    : [join(homedir, '.ollama', 'models'), '/usr/share/ollama/.ollama/models']
}

function lmStudioRoots({ homedir }: UserFolders): string[] {
  return [join(homedir, '.lmstudio', 'models'), join(homedir, '.cache', 'lm-studio', 'models')]
}

async function ollamaModels(root: string, disk: Disk): Promise<LocalModel[]> {
  const manifests = join(root, 'manifests')
  const models: LocalModel[] = []
  for (const path of await filesUnder(manifests, 4, disk)) {
    const digest = modelDigest(await readText(path, disk))
    if (digest === undefined) continue
    const blob = join(root, 'blobs', `sha256-${digest}`)
    const bytes = await sizeOf(blob, disk)
    if (bytes === undefined) continue
    const parts = relative(manifests, path).split(sep)
    const [registry, namespace, name, tag] = parts.length === 4 ? parts : [undefined, undefined, ...parts]
    const isPlain = registry === 'registry.ollama.ai' && namespace === 'library'
    const shown = isPlain ? `${name}:${tag}` : `${parts.slice(0, -1).join('/')}:${parts.at(-1)}`
    models.push({ name: shown, from: 'Ollama', path: blob, bytes })
  }
  return models
}

/** The hash of the weights that a manifest names; undefined if it names none. */
function modelDigest(text: string | undefined): string | undefined {
  try {
    const { layers } = JSON.parse(text ?? '') as { layers?: unknown }
    const layer = Array.isArray(layers) ? layers.find((one) => one?.mediaType === OLLAMA_MODEL) : undefined
    return /^sha256:([0-9a-f]{64})$/.exec(String(layer?.digest))?.[1]
  } catch {
    return undefined
  }
}

async function ggufFiles(
  root: string,
  from: LocalModel['from'],
  depth: number,
  disk: Disk,
): Promise<LocalModel[]> {
  const models: LocalModel[] = []
  for (const path of await filesUnder(root, depth, disk)) {
    // Projectors are not models; they belong to a model next to them.
    if (!path.endsWith('.gguf') || basename(path).startsWith('mmproj')) continue
    const bytes = await sizeOf(path, disk)
    if (bytes !== undefined)
      models.push({ name: relative(root, path).split(sep).join('/'), from, path, bytes })
  }
  return models
}

/** Files, and links to files, at most `depth` folders deep; links to folders are not followed. */
async function filesUnder(root: string, depth: number, disk: Disk): Promise<string[]> {
  const files: string[] = []
  let looked = 0
  async function walk(folder: string, left: number): Promise<void> {
    const names = await disk.readDirectory(folder).catch(() => [])
    for (const name of names.sort()) {
      if (++looked > MAX_ENTRIES) return
      const path = join(folder, name)
      const kind = (await disk.stat(path).catch(() => undefined))?.kind
      if (kind === 'directory' && left > 1) await walk(path, left - 1)
      else if (kind === 'file' || kind === 'link') files.push(path)
    }
  }
  await walk(root, depth)
  return files
}

async function sizeOf(path: string, disk: Disk): Promise<number | undefined> {
  try {
    const facts = await disk.stat(await disk.realPath(path))
    return facts?.kind === 'file' ? facts.size : undefined
  } catch (error) {
    if (errnoOf(error) === '') throw error
    return undefined
  }
}

async function readText(path: string, disk: Disk): Promise<string | undefined> {
  const size = await sizeOf(path, disk)
  if (size === undefined || size > MAX_MANIFEST_BYTES) return undefined
  try {
    const file = await disk.open(await disk.realPath(path), 'read')
    try {
      const bytes = Buffer.alloc(size)
      return bytes.toString('utf8', 0, await file.read(bytes, 0))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errnoOf(error) === '') throw error
    return undefined
  }
}
