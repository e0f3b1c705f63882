// The files of a dataset: one of JSON lines; or a folder with such files (*.jsonl, in the order of their names), or with
// pairs NAME.prompt.txt and NAME.answer.txt. Only regular files directly in the folder are read, so no link leads out
// of it. Everything is bounded, in chunks; what goes wrong is told as a problem of the file, with its line.

import { constants } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Fault, type Gathering, MAX_ROW_BYTES } from '../plugins/tasks/dataset/index.ts'

const MAX_BYTES = 256 << 20
const CHUNK_BYTES = 1 << 20
const NEWLINE = 10

/** Throws only what is a bug. */
export async function readFiles(path: string, into: Gathering): Promise<void> {
  try {
    const found = await stat(path)
    if (found.isFile()) return await readLines(path, 0, { left: MAX_BYTES }, into)
    if (!found.isDirectory()) throw new Fault('neither a file nor a folder')
    const entries = await readdir(path, { withFileTypes: true })
    const budget = { left: MAX_BYTES }
    const named = (ending: string) =>
      entries
        .flatMap((entry) => (entry.name.endsWith(ending) ? [entry] : []))
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    const tables = named('.jsonl')
    const questions = tables.length > 0 ? [] : named('.prompt.txt')
    for (const entry of [...tables, ...questions])
      if (!entry.isFile()) into.fail(entry.name, 'not a regular file; put the file itself into the folder')
    for (const entry of tables)
      if (entry.isFile()) await readLines(join(path, entry.name), constants.O_NOFOLLOW ?? 0, budget, into)
    for (const entry of questions)
      if (entry.isFile()) if (!(await readPair(path, entry.name, budget, into))) return
    if (tables.length + questions.length === 0)
      throw new Fault('the folder has no *.jsonl file, and no pairs NAME.prompt.txt and NAME.answer.txt')
  } catch (error) {
    into.fail(basename(path), messageOf(error))
  }
}

interface Budget {
  /** Bytes that may still be read, over all files. */
  left: number
}

async function readLines(path: string, flags: number, budget: Budget, into: Gathering): Promise<void> {
  const name = basename(path)
  await withFile(path, flags, budget, async (file) => {
    let line = 0
    let rest = Buffer.alloc(0)
    const take = (bytes: Buffer): boolean => {
      line++
      const where = `${name}:${line}`
      if (bytes.length > MAX_ROW_BYTES)
        return into.fail(where, `longer than ${MAX_ROW_BYTES} bytes; shorten it, or split it into rows`)
      const text = decode(bytes)
      if (text === undefined) return into.fail(where, 'not UTF-8; save the file as UTF-8')
      return text.trim() === '' ? true : into.line(where, text)
    }
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES)
      if (bytesRead === 0) break
      // What was measured when it was opened may have grown since.
      spend(budget, bytesRead)
      let from = 0
      const chunk =
        rest.length > 0 ? Buffer.concat([rest, buffer.subarray(0, bytesRead)]) : buffer.subarray(0, bytesRead)
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
        if (!take(chunk.subarray(from, end))) return
        from = end + 1
      }
      rest = Buffer.from(chunk.subarray(from))
      if (rest.length > MAX_ROW_BYTES) {
        take(rest)
        return
      }
    }
    if (rest.length > 0) take(rest)
  })
}

async function readPair(folder: string, name: string, budget: Budget, into: Gathering): Promise<boolean> {
  const id = name.slice(0, -'.prompt.txt'.length)
  const read = (file: string): Promise<string> =>
    withFile(join(folder, file), constants.O_NOFOLLOW ?? 0, budget, async (handle) => {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAX_ROW_BYTES + 1), 0, MAX_ROW_BYTES + 1)
      spend(budget, bytesRead)
      if (bytesRead > MAX_ROW_BYTES)
        throw new Fault(`${file} is longer than ${MAX_ROW_BYTES} bytes; shorten it`)
      const text = decode(buffer.subarray(0, bytesRead))
      if (text === undefined) throw new Fault(`${file} is not UTF-8; save it as UTF-8`)
      return text.replace(/\r?\n$/, '')
    })
  try {
    return into.pair(name, await read(name), await read(`${id}.answer.txt`), id)
  } catch (error) {
    return into.fail(name, messageOf(error))
  }
}

async function withFile<T>(
  path: string,
  flags: number,
  { left }: Budget,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(path, constants.O_RDONLY | flags)
  try {
    const { size } = await file.stat()
    if (size > left) throw tooMuch()
    return await use(file)
  } finally {
    await file.close()
  }
}

function spend(budget: Budget, bytes: number): void {
  budget.left -= bytes
  if (budget.left < 0) throw tooMuch()
}

const tooMuch = (): Fault => new Fault(`more than ${MAX_BYTES >> 20} MiB; take a part of it`)

/** Without a byte order mark; undefined if it is not UTF-8. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The message of what is expected to go wrong; anything else is a bug and is thrown on. */
export function messageOf(error: unknown): string {
  if (error instanceof Fault) return error.message
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT')
    return `${basename((error as NodeJS.ErrnoException).path ?? '')} is not there; check the path`
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read; change its permissions'
  if (code === 'ELOOP') return 'a link; put the file itself into the folder'
  if (code !== undefined) return (error as Error).message
  throw error
}
