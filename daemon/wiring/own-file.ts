// One file of a user's own code that the config names and that decides rewards: a verifier or a task. Groups are shared
// without rewards, and each receiver scores them again, so the file's digest is part of the task's version: nodes with
// different files do not exchange groups. The file may import nothing else of the user's, since that would not be part of
// the digest. It runs with all the user's rights, so only the config can name it, never a row or a peer.

import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '../../plugins/tasks/dataset/index.ts'
import { createPluginFiles } from '../host/plugin-files.ts'

const MAX_BYTES = 1 << 20
const MAY_IMPORT = /^(node:[\w/]+|waggle\/(plugin|protocol)|zod)$/

interface OwnFile {
  /** Its default export. */
  value: unknown
  /** Hex SHA-256 of its text. */
  digest: string
}

/** `what` is "verifier" or "task". Rejects with Fault. */
export async function loadOwnFile(path: string, what: string): Promise<OwnFile> {
  const source = await readSource(path, what)
  return { value: await importFrom(path), digest: createHash('sha256').update(source).digest('hex') }
}

async function importFrom(file: string): Promise<unknown> {
  try {
    return await createPluginFiles({ base: dirname(file), plugins: dirname(file) }).importPlugin(file)
  } catch (error) {
    throw new Fault(`cannot be loaded: ${(error as Error).message.slice(0, 300)}`)
  }
}

async function readSource(path: string, what: string): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    if (size > MAX_BYTES) throw new Fault(`larger than ${MAX_BYTES >> 10} KiB; a ${what} is one small file`)
    // A checkout may change line endings, which must not change the digest.
    const source = (await file.readFile('utf8')).replaceAll('\r\n', '\n')
    const foreign = importsOf(source).find((specifier) => !MAY_IMPORT.test(specifier))
    if (foreign !== undefined)
      throw new Fault(
        `imports "${foreign.slice(0, 100)}"; a ${what} must be a single file, since peers compare its contents. It may import only waggle/plugin, waggle/protocol, zod and node:… modules`,
      )
    return source
  } finally {
    await file.close()
  }
}

const importsOf = (source: string): string[] =>
  Array.from(
    source.matchAll(/\b(?:from|import|require)\s*\(?\s*(['"`])([^'"`\n]*)\1/g),
    ([, , specifier]) => specifier!,
  )
