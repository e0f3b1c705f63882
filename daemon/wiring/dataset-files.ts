// Reads the files of a dataset: JSON lines, a table (*.csv, *.tsv) with a header line, Parquet, a folder of such files
// in the order of their names, or a folder of pairs NAME.prompt.txt and NAME.answer.txt. Only regular files directly in
// the folder are read, so no link leads out of it. Sizes are limited, and problems are reported with file and line.

import { constants } from 'node:fs'
import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { CsvError, parse } from 'csv-parse'
import { Fault, type Gathering, MAX_ROW_BYTES } from '../../plugins/tasks/dataset/index.ts'
import { encodingProblem } from '../config/encoding.ts'

const MAX_BYTES = 256 << 20
const CHUNK_BYTES = 1 << 20
const NEWLINE = 10
const NO_OBJECT =
  'must be an object, {"prompt": …, "answer": …}, and so must every line of JSON lines: one row a line, no list around them; a table has a name that ends in .csv or .tsv'

/**
 * Reports problems to `into`. Rejects only for bugs. `at` hears how many bytes of how many are read, where reading is long.
 */
export async function readFiles(
  place: string | readonly string[],
  into: Gathering,
  at: ReadAt = () => {},
): Promise<void> {
  if (typeof place === 'string') return await readPlace(place, into, at)
  const budget = { left: MAX_BYTES, at }
  for (const path of place) await readTable(path, 0, budget, into)
}

async function readPlace(path: string, into: Gathering, at: ReadAt): Promise<void> {
  try {
    const found = await stat(path)
    if (found.isFile()) return await readTable(path, 0, { left: MAX_BYTES, at }, into)
    if (!found.isDirectory()) throw new Fault('neither a file nor a folder')
    const entries = await readdir(path, { withFileTypes: true })
    const budget = { left: MAX_BYTES, at }
    const named = (ending: RegExp) =>
      entries.filter((entry) => ending.test(entry.name)).sort((a, b) => (a.name < b.name ? -1 : 1))
    const tables = named(/\.(jsonl|csv|tsv|parquet)$/i)
    const questions = tables.length > 0 ? [] : named(/\.prompt\.txt$/)
    for (const entry of [...tables, ...questions])
      if (!entry.isFile()) into.fail(entry.name, 'not a regular file; put the file itself in the folder')
    for (const entry of tables)
      if (entry.isFile()) await readTable(join(path, entry.name), constants.O_NOFOLLOW ?? 0, budget, into)
    for (const entry of questions)
      if (entry.isFile()) if (!(await readPair(path, entry.name, budget, into))) return
    if (tables.length + questions.length === 0)
      throw new Fault(
        'the folder has neither *.jsonl, *.csv, *.tsv or *.parquet files nor pairs of NAME.prompt.txt and NAME.answer.txt',
      )
  } catch (error) {
    into.fail(basename(path), messageOf(error))
  }
}

interface Budget {
  /** Bytes that may still be read, over all files. */
  left: number
  at: ReadAt
}

export type ReadAt = (done: number, total: number) => void

/** The kind of a file is the end of its name; any other is JSON lines. */
const readTable: typeof readLines = async (path, flags, budget, into) => {
  const read = new Map([
    ['.parquet', readColumns],
    ['.csv', readCsv],
    ['.tsv', readCsv],
  ]).get(extname(path).toLowerCase())
  try {
    await (read ?? readLines)(path, flags, budget, into)
  } catch (error) {
    into.fail(basename(path), messageOf(error))
  }
}

const readColumns: typeof readLines = (path, flags, budget, into) =>
  // What counts is the columns that are read, not the file.
  withFile(path, flags, { ...budget, left: Number.POSITIVE_INFINITY }, async (file, byteLength) => {
    const slice = async (start: number, end = byteLength): Promise<ArrayBuffer> => {
      const bytes = new Uint8Array(end - start)
      let read = 0
      while (read < bytes.length) {
        const { bytesRead } = await file.read(bytes, read, bytes.length - read, start + read)
        if (bytesRead === 0) throw new Fault('the file was cut off while it was read')
        read += bytesRead
      }
      return bytes.buffer
    }
    const { readParquet } = await import('./parquet-files.ts')
    const { at } = budget
    await readParquet(
      { name: basename(path), file: { byteLength, slice }, spend: (count) => spend(budget, count), at },
      into,
    )
  })

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
      if (text === undefined) {
        into.fail(where, encodingProblem(bytes)!.message)
        return false
      }
      if (line > 1 || /^\s*(\{|$)/.test(text)) return text.trim() === '' || into.line(where, text)
      into.fail(where, NO_OBJECT)
      return false
    }
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES)
      if (bytesRead === 0) break
      // The file may have grown since it was opened.
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

async function readCsv(path: string, flags: number, budget: Budget, into: Gathering): Promise<void> {
  try {
    await readCells(path, flags, budget, into)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
    const { line, message } = encodingProblem(await readFile(path))!
    into.fail(`${basename(path)}:${line}`, message)
  }
}

const readCells: typeof readLines = async (path, flags, budget, into) => {
  const name = basename(path)
  await withFile(path, flags, budget, async (file) => {
    const texts = textChunks(file, budget)
    const first = await texts.next()
    if (first.done) return
    const parser = parse({
      delimiter: path.toLowerCase().endsWith('.tsv') ? '\t' : delimiterOf(first.value),
      info: true,
      max_record_size: MAX_ROW_BYTES,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      // A quote inside a cell is literal, as in spreadsheets and Python.
      relax_quotes: true,
      skip_empty_lines: true,
    })
    const feed = async (): Promise<void> => {
      const write = async (text: string) => {
        if (!parser.write(text) && !parser.destroyed)
          await new Promise<void>((go) => {
            parser.once('drain', go)
            parser.once('close', go)
          })
      }
      try {
        await write(first.value)
        for await (const text of texts) {
          if (parser.destroyed) return
          await write(text)
        }
        parser.end()
      } catch (error) {
        parser.destroy(error as Error)
      }
    }
    const fed = feed()
    let columns: string[] | undefined
    let line = 1
    try {
      for await (const { record, info } of parser as AsyncIterable<CsvRow>) {
        // A record may span several lines; its first is reported.
        const where = `${name}:${line}`
        line = info.lines + 1
        if (columns === undefined) {
          columns = record.map((cell) => cell.trim())
          if (!into.header(where, columns)) break
        } else if (record.length !== columns.length) {
          const problem = `has ${record.length === 1 ? '1 cell' : `${record.length} cells`}, but the header has ${columns.length}; quote cells that contain the separator`
          if (!into.fail(where, problem)) break
        } else if (!into.cells(where, Object.fromEntries(columns.map((key, i) => [key, record[i]!])))) break
      }
    } catch (error) {
      if (!(error instanceof CsvError)) throw error
      into.fail(`${name}:${line}`, csvProblem(error))
    } finally {
      parser.destroy()
      await fed
    }
  })
}

interface CsvRow {
  record: string[]
  /** `lines`: number of lines of the file up to and including this record. */
  info: { lines: number }
}

/** In many countries, spreadsheets separate cells with semicolons, since numbers contain commas. */
function delimiterOf(text: string): string {
  const [header = ''] = text.split(/[\r\n]/, 1)
  return header.includes(',') ? ',' : header.includes(';') ? ';' : header.includes('\t') ? '\t' : ','
}

function csvProblem({ code, message }: CsvError): string {
  if (code === 'CSV_MAX_RECORD_SIZE')
    return `a row longer than ${MAX_ROW_BYTES} bytes, or a quote that is not closed; check the row that starts here`
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'this quote is never closed'
  return `not CSV: ${message.slice(0, 160)}`
}

/** The file as text, without a byte order mark. */
async function* textChunks(file: FileHandle, budget: Budget): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES)
    const text = decoder.decode(buffer.subarray(0, bytesRead), { stream: bytesRead > 0 })
    spend(budget, bytesRead)
    if (text !== '') yield text
    if (bytesRead === 0) return
  }
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
  use: (file: FileHandle, size: number) => Promise<T>,
): Promise<T> {
  const file = await open(path, constants.O_RDONLY | flags)
  try {
    const { size } = await file.stat()
    if (size > left) throw tooMuch()
    return await use(file, size)
  } finally {
    await file.close()
  }
}

function spend(budget: Budget, bytes: number): void {
  budget.left -= bytes
  if (budget.left < 0) throw tooMuch()
}

const tooMuch = (): Fault => new Fault(`more than ${MAX_BYTES >> 20} MiB; use a part of it`)

/** Without byte order mark; undefined if it is not UTF-8. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The message of an expected error. Other errors are bugs and are rethrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Fault) return error.message
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT')
    return `${basename((error as NodeJS.ErrnoException).path ?? '')} does not exist; check the path`
  if (code === 'EACCES' || code === 'EPERM') return 'is not readable; change its permissions'
  if (code === 'ELOOP') return 'a link; put the file itself in the folder'
  if (code !== undefined) return (error as Error).message
  throw error
}
