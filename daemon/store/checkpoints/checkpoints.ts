// Checkpoints on disk: one folder each, written whole or not at all, with a SHA-256 for every file. The newest one that
// verifies is used, and the log says why others were skipped. Old ones are deleted only when enough newer ones are
// known to be good. Callers decide what a checkpoint contains: weights, optimizer state, counters. A folder may have
// checkpoints of several lineages, one for each model that was trained; `of` gives those of one.

import { dirname, join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { type Content, ensureDirectory, writeDirectoryWhole } from '../atomic.ts'
import { type Disk, explainErrno } from '../disk.ts'
import type { Log } from '../log.ts'
import { watchedDisk } from '../watched-disk.ts'
import { type CheckpointFolder, openFolder } from './folder.ts'
import { encodeManifest, FILE_NAME, type Json, MANIFEST_FILE, type Manifest, manifestOf } from './manifest.ts'

export type { Json, Manifest } from './manifest.ts'

interface CheckpointOptions {
  directory: string
  /** Number of good ones to keep of a lineage: the newest, and others at least `apart` steps from one another. */
  keep?: number
  /** In steps, as it is now. Timed checkpoints may be few steps apart, but a roll-back needs older ones. */
  apart?(): number
  /** True for one that somebody asked for. The newest of these stay beside those to keep. */
  isAsked?(manifest: Manifest): boolean
}

/** Number of good ones to keep of those that somebody asked for. */
const KEPT_ASKED = 3

interface SaveRequest {
  /** Optimizer steps so far. */
  step: number
  policyVersion: number
  /** Digest of the weights that the policy started from. */
  lineage: string
  /** Written in this order. Names are plain and lower-case. */
  files: Record<string, Content>
  /** A few facts for people and programs; state belongs in a file. */
  meta?: Json
  /** Called with the bytes written so far. */
  onBytes?: ((bytes: number) => void) | undefined
}

export interface Checkpoint {
  manifest: Manifest
  directory: string
  /** Path of one of its files. */
  path(name: string): string
}

export interface Checkpoints {
  /** The same folder, with only the checkpoints of this lineage. */
  of(lineage: string): Checkpoints
  /** Newest first, without those that cannot be read. The other files are not verified. */
  manifests(): Promise<Manifest[]>
  /** Once this resolves, the checkpoint survives a power cut. If it rejects, earlier ones are unchanged. */
  save(request: SaveRequest): Promise<Checkpoint>
  /** The newest one that verifies; undefined only if this folder never had a checkpoint. */
  latest(): Promise<Checkpoint | undefined>
  /** All that verify, oldest first. */
  list(): Promise<Checkpoint[]>
  /** Deletes checkpoints made after `sequence`, so that a roll-back survives a restart. */
  discardAfter(sequence: number): Promise<void>
}

interface Parts {
  disk: Disk
  clock: () => number
  log: Log
}

export function folderOf({ sequence, step }: Pick<Manifest, 'sequence' | 'step'>): string {
  return `${String(sequence).padStart(6, '0')}-step-${step}`
}

export async function createCheckpoints(options: CheckpointOptions, parts: Parts): Promise<Checkpoints> {
  return viewOf(undefined, options, { ...parts, folder: await openFolder(options.directory, parts) })
}

/** All lineages if undefined. A checkpoint whose lineage cannot be read may belong to any. */
function viewOf(
  lineage: string | undefined,
  options: CheckpointOptions,
  parts: Parts & { folder: CheckpointFolder },
): Checkpoints {
  const { folder, log } = parts
  const { directory } = options
  /** Newest first. */
  const mine = async (): Promise<Array<{ name: string; sequence: number }>> => {
    const all = await folder.entries()
    if (lineage === undefined) return all
    const manifests = await Promise.all(all.map(({ name }) => folder.manifestIn(name)))
    return all.filter((_, i) => typeof manifests[i] === 'string' || manifests[i]?.lineage === lineage)
  }

  return {
    of: (one) => viewOf(one, options, parts),

    async manifests() {
      const all = await Promise.all((await mine()).map(({ name }) => folder.manifestIn(name)))
      return all.filter((manifest) => typeof manifest !== 'string')
    },

    save: (request) =>
      folder.inTurn(`the checkpoint at step ${request.step} was not saved`, async () => {
        const saved = await write(request, options, parts)
        // The new checkpoint is safe, so a failure to delete an old one must not fail the save.
        await mine()
          .then((all) => rotate(all, options, folder))
          .catch((error) => log('warn', `old checkpoints were not removed: ${explainErrno(error)}`))
        return saved
      }),

    latest: () =>
      folder.guard('the checkpoints cannot be listed', async () => {
        const reasons: string[] = []
        for (const { name } of await mine()) {
          const found = await folder.verify(name)
          if (typeof found !== 'string') return checkpointIn(join(directory, name), found)
          reasons.push(`${name}: ${found}`)
          log('warn', `checkpoint ${name} is passed over: ${found}`)
        }
        if (!reasons.length) return undefined
        throw new WaggleError('E_CHECKPOINT', `no checkpoint in ${directory} can be used; ${reasons[0]}`, {
          hint: 'Restore the folder from a backup, or move it away to start again from the base model.',
          data: { directory, reasons },
        })
      }),

    list: () =>
      folder.guard('the checkpoints cannot be listed', async () => {
        const found: Checkpoint[] = []
        for (const { name } of (await mine()).reverse()) {
          const manifest = await folder.verify(name)
          if (typeof manifest !== 'string') found.push(checkpointIn(join(directory, name), manifest))
        }
        return found
      }),

    discardAfter: (sequence) =>
      folder.inTurn('newer checkpoints were not removed', async () => {
        for (const { name, sequence: later } of await mine()) if (later > sequence) await folder.remove(name)
      }),
  }
}

function checkpointIn(directory: string, manifest: Manifest): Checkpoint {
  return { manifest, directory, path: (file) => join(directory, file) }
}

async function write(
  { files, meta = null, onBytes = () => {}, ...facts }: SaveRequest,
  { directory }: CheckpointOptions,
  { folder, disk, clock }: Parts & { folder: CheckpointFolder },
): Promise<Checkpoint> {
  // Somebody may have removed the folder. In a home that has moved, it must not come back at the old place.
  if (await disk.stat(dirname(directory))) await ensureDirectory(directory, { disk })
  const sequence = ((await folder.entries())[0]?.sequence ?? 0) + 1
  const name = folderOf({ sequence, step: facts.step })
  const manifest = await writeDirectoryWhole(
    { path: join(directory, name) },
    async (put) => {
      const written: Manifest['files'] = {}
      for (const [file, content] of Object.entries(files)) {
        if (!FILE_NAME.test(file) || file === MANIFEST_FILE)
          throw new RangeError(`${file} is no name for a file`)
        written[file] = await put(file, content)
      }
      const made = manifestOf({ sequence, ...facts, savedAt: clock(), files: written, meta })
      await put(MANIFEST_FILE, encodeManifest(made))
      return made
    },
    { disk: watchedDisk(disk, onBytes) },
  )
  folder.written(name, manifest)
  return checkpointIn(join(directory, name), manifest)
}

/** Removes old ones. `all`: newest first. */
async function rotate(
  all: readonly { name: string }[],
  { keep = 3, apart, isAsked = () => false }: CheckpointOptions,
  folder: CheckpointFolder,
): Promise<void> {
  const found: Good[] = []
  const repeated: Array<{ name: string }> = []
  const damaged: Array<{ name: string; newer: number }> = []
  for (const { name } of all) {
    const manifest = await folder.verify(name)
    if (typeof manifest === 'string') damaged.push({ name, newer: found.length })
    else {
      const one = { name, step: manifest.step, asked: isAsked(manifest) }
      const newer = found.at(-1)
      // A node that stops may save the same step again; only the newest of these is kept.
      if (newer?.step === one.step && (newer.asked || !one.asked)) repeated.push(one)
      else found.push(one)
    }
  }
  const staying = kept(found, keep, apart?.() ?? 0)
  // An unreadable one is kept for inspection until enough newer ones are good.
  const going = [
    ...found.filter((one) => !staying.has(one)),
    ...repeated,
    ...damaged.filter(({ newer }) => newer >= keep),
  ]
  for (const { name } of going) await folder.remove(name)
}

interface Good {
  name: string
  step: number
  /** Somebody asked for it. */
  asked: boolean
}

/**
 * Which good ones to keep, given newest first: the newest, the last that somebody asked for, and of the others the last
 * `keep - 1` of a chain `apart` steps apart.
 */
function kept(found: readonly Good[], keep: number, apart: number): Set<Good> {
  const [newest, ...rest] = found
  const asked = new Set(rest.filter((one) => one.asked).slice(0, KEPT_ASKED - (newest?.asked ? 1 : 0)))
  const older = rest.filter((one) => !asked.has(one))
  const spread: Good[] = []
  for (const one of older.reverse()) {
    const before = spread.at(-1)
    if (!before || Math.abs(one.step - before.step) >= apart) spread.push(one)
  }
  return new Set([
    ...(newest ? [newest] : []),
    ...asked,
    ...spread.slice(spread.length - Math.min(spread.length, keep - 1)),
  ])
}
