// Reads the rows of a Parquet file that a dataset needs, as lines of JSON. All sizes and counts in the file are checked
// before a page is decoded. Loaded only if a dataset has such a file.

import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import {
  type ColumnMetaData,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetRead,
  parquetSchema,
} from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { Fault, type Gathering, MAX_ROW_BYTES, MAX_ROWS } from '../../plugins/tasks/dataset/index.ts'
import { toText } from './parquet-values.ts'

const MAX_VALUES = 16 << 20
const MAX_FOOTER = 64 << 20
/** Compressed bytes of a column in a row group. */
const MAX_CHUNK = 256 << 20

const COMPRESSORS: Compressors = {
  GZIP: (bytes, length) => gunzipSync(bytes, { maxOutputLength: Math.max(1, length) }),
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
}
const CODECS = ['UNCOMPRESSED', 'SNAPPY', ...Object.keys(COMPRESSORS)]

interface Options {
  name: string
  file: File
  /** Called with the size of each page before it is decompressed; throws if it is too much. */
  spend(bytes: number): void
  /** Hears how many bytes of how many are read. */
  at?(done: number, total: number): void
}

interface File {
  byteLength: number
  slice(start: number, end?: number): Promise<ArrayBuffer>
}

/**
 * Reports problems to `into`. Throws Fault if the file as a whole cannot be read. One row group is in memory at a time,
 * and of it the columns that count.
 */
export async function readParquet({ name, file, spend, at }: Options, into: Gathering): Promise<void> {
  const metadata = await readMetadata(file)
  const tree = orBroken(() => parquetSchema(metadata))
  const names = tree.children.map(({ element }) => element.name)
  if (names.some((one) => typeof one !== 'string')) throw broken(new Error('a column has no name'))
  const columns = into.columns(name, names)
  if (columns === undefined) return
  const groups = orBroken(() => checkCounts(metadata, columns))
  const texts = orBroken(() =>
    tree.children
      .filter(({ element }) => columns.includes(element.name))
      .map((column) => [column.element.name, toText(column)] as const),
  )
  const total = groups.flat().reduce((sum, chunk) => sum + Number(chunk.total_compressed_size), 0)
  let [done, rowStart] = [0, 0]
  for (const [i, { num_rows }] of metadata.row_groups.entries()) {
    for (const chunk of groups[i]!) {
      await checkPages(chunk, file, spend)
      done += Number(chunk.total_compressed_size)
      at?.(done, total)
    }
    const rowEnd = rowStart + Number(num_rows)
    const rows = await decode({ file, metadata, columns, rowStart, rowEnd })
    for (const [j, row] of rows.entries()) {
      const where = `${name}, row ${rowStart + j + 1}`
      if (!takeRow(where, row, texts, into)) return
    }
    rowStart = rowEnd
  }
}

async function readMetadata(file: File): Promise<FileMetaData> {
  try {
    if (file.byteLength < 12) throw new Error('it is too short')
    const end = new DataView(await file.slice(file.byteLength - 8, file.byteLength))
    if (end.getUint32(0, true) > MAX_FOOTER)
      throw new Error(`its footer says that it has more than ${MAX_FOOTER} bytes`)
    return await parquetMetadataAsync(file, { geoparquet: false })
  } catch (error) {
    throw broken(error)
  }
}

type Row = Record<string, unknown>

function takeRow(
  where: string,
  row: Row,
  texts: readonly (readonly [string, (value: unknown) => string])[],
  into: Gathering,
): boolean {
  try {
    const line = orBroken(
      () => `{${texts.map(([name, text]) => `${JSON.stringify(name)}:${text(row[name])}`).join(',')}}`,
    )
    if (Buffer.byteLength(line) > MAX_ROW_BYTES)
      throw new Fault(`longer than ${MAX_ROW_BYTES} bytes; shorten it, or split it into rows`)
    return into.line(where, line)
  } catch (error) {
    if (error instanceof Fault) return into.fail(where, error.message)
    throw error
  }
}

async function decode(options: {
  file: File
  metadata: FileMetaData
  columns: string[]
  rowStart: number
  rowEnd: number
}): Promise<Row[]> {
  let rows: Row[] = []
  const parsers = { timestampFromNanoseconds: (nanoseconds: bigint) => nanoseconds }
  try {
    await parquetRead({
      ...options,
      compressors: COMPRESSORS,
      utf8: false,
      parsers,
      rowFormat: 'object',
      onComplete: (read) => {
        rows = read
      },
    })
  } catch (error) {
    throw broken(error)
  }
  for (const name of options.columns)
    if (rows.some((row) => row[name] === undefined))
      throw broken(new Error(`column ${JSON.stringify(name)} has fewer rows than the file says`))
  return rows
}

/** The chunks that count, by row group. Throws Fault if the counts in the file contradict each other, or are too large. */
function checkCounts(metadata: FileMetaData, columns: readonly string[]): ColumnMetaData[][] {
  const total = metadata.row_groups.reduce((sum, { num_rows }) => sum + num_rows, 0n)
  if (total !== metadata.num_rows || metadata.row_groups.some(({ num_rows }) => num_rows < 0n))
    throw broken(new Error(`it says ${metadata.num_rows} rows, and its parts ${total}`))
  if (total > MAX_ROWS) throw new Fault(`more than ${MAX_ROWS} rows; take a part of them`)
  let values = 0
  return metadata.row_groups.map(({ columns: chunks }) =>
    chunks.flatMap(({ meta_data: chunk }) => {
      if (chunk === undefined) throw broken(new Error('it is encrypted, or its columns are in other files'))
      if (!columns.includes(chunk.path_in_schema[0]!)) return []
      if (!CODECS.includes(chunk.codec))
        throw new Fault(
          `is compressed with ${chunk.codec}, which is not read; write it with zstd, snappy or gzip`,
        )
      values += Number(chunk.num_values)
      if (values > MAX_VALUES) throw new Fault(`more than ${MAX_VALUES} values; take a part of the rows`)
      return [chunk]
    }),
  )
}

/** Goes from page header to page header. Throws Fault. */
async function checkPages(chunk: ColumnMetaData, file: File, spend: (bytes: number) => void): Promise<void> {
  const start = Number(chunk.dictionary_page_offset || chunk.data_page_offset)
  const size = Number(chunk.total_compressed_size)
  if (size > MAX_CHUNK)
    throw new Fault(`a column has more than ${MAX_CHUNK >> 20} MiB in one row group; write smaller ones`)
  if (!(start >= 0 && size >= 0 && start + size <= file.byteLength))
    throw broken(new Error('a column is not within the file'))
  const view = new DataView(await file.slice(start, start + size))
  orBroken(() => checkHeaders(chunk, view, spend))
}

function checkHeaders(
  chunk: ColumnMetaData,
  view: DataView<ArrayBuffer>,
  spend: (bytes: number) => void,
): void {
  const reader = { view, offset: 0 }
  let values = 0
  while (reader.offset < view.byteLength) {
    const page = parquetHeader(reader)
    const { compressed_page_size: stored, uncompressed_page_size: size, dictionary_page_header } = page
    const count = (page.data_page_header ?? page.data_page_header_v2)?.num_values ?? 0
    reader.offset += stored
    if (!(stored >= 0 && size >= 0 && count >= 0) || reader.offset > view.byteLength)
      throw new Error('a page does not end where it should')
    if (dictionary_page_header && !(dictionary_page_header.num_values <= size))
      throw new Error('a dictionary is longer than its page')
    values += count
    spend(size)
  }
  if (BigInt(values) !== chunk.num_values)
    throw new Error(
      `column ${JSON.stringify(chunk.path_in_schema.join('.'))} has ${values} values, not ${chunk.num_values}`,
    )
}

function orBroken<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw broken(error)
  }
}

const broken = (error: unknown): Fault =>
  error instanceof Fault
    ? error
    : new Fault(
        `not readable as Parquet: ${(error as Error).message.slice(0, 160)}; it is probably cut off or damaged, so fetch or write it again`,
      )
