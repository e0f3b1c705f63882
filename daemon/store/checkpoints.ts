// Checkpoints on disk: one folder each, whole or not there at all, every byte under a SHA-256. The newest one that
// verifies is used, with a reason logged for any that was passed over; old ones go only when enough newer ones are
// known to be good. What is in a checkpoint is the callers' business: weights, optimizer state, counters.

import { join } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import {
  type Content,
  ensureDirectory,
  PARTIAL,
  removeDirectoryWhole,
  removePartials,
  writeDirectoryWhole,
} from './atomic.ts'
import { type Disk, errnoOf, explainErrno } from './disk.ts'
import type { Log } from './log.ts'
import {
  encodeManifest,
  FILE_NAME,
  type Json,
  MANIFEST_FILE,
  type Manifest,
  manifestOf,
  verifyCheckpoint,
} from './manifest.ts'

export type { Json, Manifest } from './manifest.ts'

export interface CheckpointOptions {
  directory: string
  /** How many good ones stay. */
  keep?: number
}

export interface SaveRequest {
  /** Optimizer steps so far. */
  step: number
  policyVersion: number
  /** Digest of the weights that the policy started from. */
  lineage: string
  /** Written in this order. Names are plain and lower-case. */
  files: Record<string, Content>
  /** Small facts for people and programs; state belongs into a file. */
  meta?: Json
}

export interface Checkpoint {
  manifest: Manifest
  directory: string
  /** Where one of its files is. */
  path(name: string): string
}

export interface Checkpoints {
  /** When this returns the checkpoint survives a power cut. If it throws, those before it are as they were. */
  save(request: SaveRequest): Promise<Checkpoint>
  /** The newest one that verifies; undefined only if none was ever made here. */
  latest(): Promise<Checkpoint | undefined>
  /** All that verify, oldest first. */
  list(): Promise<Checkpoint[]>
  /** Removes those made after `sequence`: going back to an earlier one must survive a restart. */
  discardAfter(sequence: number): Promise<void>
}

/** `000012-step-600`; the first number counts checkpoints and decides which is newer. */
const FOLDER = /^(\d{6,15})-step-(\d+)$/

export async function createCheckpoints(
  { directory, keep = 3 }: CheckpointOptions,
  { disk, clock, log }: { disk: Disk; clock: () => number; log: Log },
): Promise<Checkpoints> {
  await guard('the checkpoint folder cannot be used', async () => {
    await ensureDirectory(directory, { disk })
    const left = await removePartials(directory, { disk })
    if (left.length) log('info', 'removed what an interrupted save left behind', { names: left })
  })
  /** Folders that were verified, or written, since the start. */
  const good = new Map<string, Manifest>()
  let queue: Promise<unknown> = Promise.resolve()

  async function guard<Result>(what: string, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (error) {
      // Anything without an errno is a failure of what was to be saved, or a bug; it tells its own story.
      if (error instanceof WaggleError || !errnoOf(error)) throw error
      throw new WaggleError('E_CHECKPOINT', `${what}: ${explainErrno(error)}`, {
        hint: `Make room on the disk of ${directory} and check its permissions. Older checkpoints are not touched.`,
        data: { directory },
        cause: error,
      })
    }
  }

  /** One change of the folder at a time. */
  function inTurn<Result>(what: string, run: () => Promise<Result>): Promise<Result> {
    const done = queue.then(() => guard(what, run))
    queue = done.catch(() => {})
    return done
  }

  /** Newest first. */
  async function folders(): Promise<Array<{ name: string; sequence: number }>> {
    const names = (await disk.readDirectory(directory)).filter((name) => !name.endsWith(PARTIAL))
    const found = names.flatMap((name) => {
      const match = FOLDER.exec(name)
      return match ? [{ name, sequence: Number(match[1]) }] : []
    })
    return found.sort((a, b) => b.sequence - a.sequence)
  }

  /** The manifest, or why it cannot be used. */
  async function verify(name: string): Promise<Manifest | string> {
    const known = good.get(name)
    if (known) return known
    try {
      const manifest = await verifyCheckpoint(join(directory, name), { disk })
      good.set(name, manifest)
      return manifest
    } catch (error) {
      return (error as Error).message
    }
  }

  function checkpoint(name: string, manifest: Manifest): Checkpoint {
    const folder = join(directory, name)
    return { manifest, directory: folder, path: (file) => join(folder, file) }
  }

  async function rotate(): Promise<void> {
    let verified = 0
    for (const { name } of await folders()) {
      if (verified >= keep) {
        await removeDirectoryWhole(join(directory, name), { disk })
        good.delete(name)
      } else if (typeof (await verify(name)) !== 'string') verified++
    }
  }

  async function save({ files, meta = null, ...facts }: SaveRequest): Promise<Checkpoint> {
    const sequence = ((await folders())[0]?.sequence ?? 0) + 1
    const name = `${String(sequence).padStart(6, '0')}-step-${facts.step}`
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
      { disk },
    )
    good.set(name, manifest)
    // The checkpoint is safe; that an old one could not be removed must not make it look as if it were not.
    await rotate().catch((error) => log('warn', `old checkpoints were not removed: ${explainErrno(error)}`))
    return checkpoint(name, manifest)
  }

  return {
    save: (request) => inTurn(`the checkpoint at step ${request.step} was not saved`, () => save(request)),

    latest: () =>
      guard('the checkpoints cannot be listed', async () => {
        const all = await folders()
        const reasons: string[] = []
        for (const { name } of all) {
          const found = await verify(name)
          if (typeof found !== 'string') return checkpoint(name, found)
          reasons.push(`${name}: ${found}`)
          log('warn', `checkpoint ${name} is passed over: ${found}`)
        }
        if (!all.length) return undefined
        throw new WaggleError('E_CHECKPOINT', `no checkpoint in ${directory} can be used; ${reasons[0]}`, {
          hint: 'Restore the folder from a backup, or move it away to start again from the base model.',
          data: { directory, reasons },
        })
      }),

    list: () =>
      guard('the checkpoints cannot be listed', async () => {
        const found: Checkpoint[] = []
        for (const { name } of (await folders()).reverse()) {
          const manifest = await verify(name)
          if (typeof manifest !== 'string') found.push(checkpoint(name, manifest))
        }
        return found
      }),

    discardAfter: (sequence) =>
      inTurn('newer checkpoints were not removed', async () => {
        for (const { name, sequence: later } of await folders()) {
          if (later > sequence) await removeDirectoryWhole(join(directory, name), { disk })
        }
      }),
  }
}
