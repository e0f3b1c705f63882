// A checkpoint's manifest: its files with a SHA-256 each, and a SHA-256 over the manifest itself. It is written last
// and read strictly: if it differs in any byte from what this program would write, it is damaged.

import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import { z } from 'zod'
import type { Written } from '../atomic.ts'
import { type Disk, explainErrno } from '../disk.ts'

export const MANIFEST_FILE = 'manifest.json'
const FORMAT = 'waggle-checkpoint'
/** Raised when older versions of Waggle could not use a newer checkpoint. */
const VERSION = 1
/** Allowed file names in a checkpoint: never a path, and valid on every file system. */
export const FILE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** A manifest takes a few kilobytes; plugin state belongs in a file. */
const MAX_MANIFEST_BYTES = 1024 * 1024
const PIECE_BYTES = 4 * 1024 * 1024

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

const count = z.int().nonnegative()
const digest = z.string().regex(/^[0-9a-f]{64}$/)
const schema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  /** Numbers the checkpoints of this folder; unlike the step, it never decreases. */
  sequence: count,
  /** Optimizer steps so far. */
  step: count,
  policyVersion: count,
  /** Digest of the weights that the policy started from. */
  lineage: z.string(),
  /** ms since the epoch. */
  savedAt: z.number(),
  files: z.record(z.string().regex(FILE_NAME), z.strictObject({ bytes: count, sha256: digest })),
  meta: z.json(),
})

export type Manifest = z.infer<typeof schema>

export function manifestOf(facts: Omit<Manifest, 'format' | 'version'>): Manifest {
  return schema.parse({ format: FORMAT, version: VERSION, ...facts })
}

/** The outer layout, the same for every version. Throws RangeError for one that would not be read again. */
export function encodeManifest(manifest: object): string {
  const digest = createHash('sha256').update(JSON.stringify(manifest), 'utf8').digest('hex')
  const text = `${JSON.stringify({ ...manifest, digest }, null, 2)}\n`
  if (Buffer.byteLength(text) <= MAX_MANIFEST_BYTES) return text
  throw new RangeError(`the manifest of a checkpoint has at most ${MAX_MANIFEST_BYTES} bytes`)
}

/** Throws an Error that says what is wrong. */
export function decodeManifest(text: string): Manifest {
  const body = undamaged(text)
  if (!body) throw new Error('its manifest is damaged')
  if (body.format !== FORMAT) throw new Error('its manifest is of another kind')
  if (typeof body.version === 'number' && body.version > VERSION) {
    throw new Error(`a newer Waggle wrote it (checkpoint format ${body.version}, this one knows ${VERSION})`)
  }
  const checked = schema.safeParse(body)
  if (!checked.success) throw new Error(`its manifest is of another kind: ${z.prettifyError(checked.error)}`)
  return checked.data
}

/** The manifest without its digest; undefined if any byte has changed. */
function undamaged(text: string): Record<string, unknown> | undefined {
  try {
    const { digest: _, ...body } = JSON.parse(text) as Record<string, unknown>
    return encodeManifest(body) === text ? body : undefined
  } catch {
    return undefined
  }
}

/** Reads the manifest alone. Rejects with an Error that says what is wrong. */
export async function readManifest(directory: string, { disk }: { disk: Disk }): Promise<Manifest> {
  const text = await digestFile(join(directory, MANIFEST_FILE), disk, MAX_MANIFEST_BYTES)
  return decodeManifest(Buffer.concat(text.kept).toString('utf8'))
}

/** Reads the manifest and verifies every file. Rejects with an Error that says what is wrong. */
export async function verifyCheckpoint(directory: string, { disk }: { disk: Disk }): Promise<Manifest> {
  const manifest = await readManifest(directory, { disk })
  for (const [name, expected] of Object.entries(manifest.files)) {
    const found = await digestFile(join(directory, name), disk)
    if (found.bytes !== expected.bytes) {
      throw new Error(`${name} has ${found.bytes} bytes, the manifest promises ${expected.bytes}`)
    }
    if (found.sha256 !== expected.sha256)
      throw new Error(`${name} is damaged: its SHA-256 is not the manifest's`)
  }
  return manifest
}

/** Size and SHA-256 of a file, and its content if that has at most `keep` bytes. */
async function digestFile(path: string, disk: Disk, keep = 0): Promise<Written & { kept: Uint8Array[] }> {
  const name = basename(path)
  try {
    const size = (await disk.stat(path))?.size
    if (size === undefined) throw new Error(`${name} is missing`)
    if (keep && size > keep) throw new Error(`${name} is damaged: it has ${size} bytes`)
    const hash = createHash('sha256')
    const kept: Uint8Array[] = []
    const piece = new Uint8Array(Math.min(PIECE_BYTES, Math.max(size, 1)))
    const file = await disk.open(path, 'read')
    let bytes = 0
    try {
      for (let got = 1; got > 0; bytes += got) {
        got = await file.read(piece, bytes)
        hash.update(piece.subarray(0, got))
        if (keep) kept.push(piece.slice(0, got))
      }
    } finally {
      await file.close()
    }
    return { bytes, sha256: hash.digest('hex'), kept }
  } catch (error) {
    if ((error as { code?: unknown }).code === undefined) throw error
    throw new Error(`${name} cannot be read: ${explainErrno(error)}`, { cause: error })
  }
}
