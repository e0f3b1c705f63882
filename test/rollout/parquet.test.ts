// Datasets in Parquet files, as pyarrow writes them (scripts/fixtures/parquet_files.py).

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readFiles } from '../../daemon/wiring/dataset-files.ts'
import { readParquet } from '../../daemon/wiring/parquet-files.ts'
import { toText } from '../../daemon/wiring/parquet-values.ts'
import { type Fields, type Gathered, gather, readJudge } from '../../plugins/tasks/dataset/index.ts'

const FOLDER = join(import.meta.dirname, 'parquet')
const defaultJudge = readJudge('exact')

async function read(file: string, fields?: Fields): Promise<Gathered> {
  const gathering = gather({ defaultJudge, fields })
  await readFiles(join(FOLDER, file), gathering)
  return gathering.result()
}
const problemsOf = async (file: string, fields?: Fields): Promise<string[]> =>
  (await read(file, fields)).problems.map(({ where, message }) => `${where}  ${message}`)

/** The two answers that column `answer` of kinds.parquet has, beside a null. */
async function answers(answer: string): Promise<unknown[]> {
  const { rows, problems } = await read('kinds.parquet', { prompt: 'q', answer })
  expect(problems).toEqual([
    {
      where: 'kinds.parquet, row 3',
      message: expect.stringContaining('must be a text, a number, or a list'),
    },
  ])
  return rows.map((row) => row.answer)
}

test.each(['none', 'snappy', 'zstd', 'gzip', 'brotli', 'v2'])(
  'the rows of a Parquet file are read (%s)',
  async (codec) => {
    const { rows, problems } = await read(`${codec}.parquet`)
    expect(problems).toEqual([])
    expect(rows.map(({ prompt, answer }) => [prompt, answer])).toEqual(
      Array.from({ length: 8 }, (_, i) => [`${i} + 2 = ?`, `${i + 2}`]),
    )
  },
)

test.each([
  ['int64', ['9007199254740993', -3]],
  ['uint64', ['18446744073709551615', 4]],
  ['decimal', ['12345678901234567890.50', -0.05]],
  ['float32', [0.1, 1.5]],
  ['float64', [0.1, 1]],
  ['day', ['2024-02-29', '1969-12-31']],
  ['moment', ['2024-02-29T01:02:03.456789Z', '2024-02-29T01:02:03.456789Z']],
  ['local', ['1969-12-31T23:59:59', '1969-12-31T23:59:59']],
  ['numbers', [['9007199254740993', 1], [2]]],
])('a column of type %s keeps its digits, and a null is no answer', async (column, expected) => {
  expect(await answers(column)).toEqual(expected)
})

test('chats, and names with dots, lead into lists and structures', async () => {
  const chat = await read('kinds.parquet', { prompt: 'chat', answer: 'chat' })
  expect(chat.rows).toMatchObject([{ prompt: 'Say 7', answer: '7' }])
  const nested = await read('kinds.parquet', { prompt: 'q', answer: 'reward_model.ground_truth' })
  expect(nested.rows).toMatchObject([{ prompt: 'large', answer: '1.50' }])
})

test('optional fields may be null, and columns that no field names are not read', async () => {
  const { rows } = await read('kinds.parquet', { prompt: 'q', answer: 'int64', id: 'moment' })
  expect(rows.map(({ id }) => id)).toEqual(['2024-02-29T01:02:03.456789Z', '2024-02-29T01:02:03.456789Z'])
})

test.each([
  [
    'cut-off.parquet',
    undefined,
    /^cut-off\.parquet {2}not readable as Parquet: .*probably cut off or damaged/,
  ],
  [
    'lying.parquet',
    undefined,
    /^lying\.parquet {2}not readable as Parquet: column "prompt" has 8 values, not 9/,
  ],
  ['lz4.parquet', undefined, /^lz4\.parquet {2}is compressed with LZ4\w*, .*write it with zstd/],
  ['kinds.parquet', undefined, /^kinds\.parquet {2}there is no column "prompt"\. .*Say in the config/],
  ['kinds.parquet', { prompt: 'q', answer: 'int46' }, /no field "int46"\. Did you mean "int64"/],
  [
    'kinds.parquet',
    { prompt: 'q', answer: 'bytes' },
    /^kinds\.parquet, row 1 {2}"bytes" has bytes that are not/,
  ],
])('%s is refused with its place (%o)', async (file, fields, message) => {
  expect((await problemsOf(file, fields))[0]).toMatch(message)
})

test('however a file is damaged, there are rows or problems, and no other error', async () => {
  const whole = readFileSync(join(FOLDER, 'zstd.parquet'))
  for (let at = 0; at < whole.length; at++) {
    const bytes = Uint8Array.from(whole)
    bytes[at]! ^= 0xff
    const gathering = gather({ defaultJudge })
    let left = 1 << 20
    const spend = (count: number) => {
      left -= count
      if (left < 0) throw new Error('too much')
    }
    const file = {
      byteLength: bytes.length,
      slice: async (start: number, end?: number) => bytes.slice(start, end).buffer,
    }
    await readParquet({ name: 'x', file, spend }, gathering).catch((error: Error) =>
      expect(error.message).toMatch(/not readable as Parquet|which is not read|more than/),
    )
  }
})

test('a file may be larger than what is read of it, and how far reading is gets told', async () => {
  const whole = readFileSync(join(FOLDER, 'snappy.parquet'))
  const footer = whole.length - 8 - whole.readUInt32LE(whole.length - 8)
  const folder = mkdtempSync(join(tmpdir(), 'waggle-parquet-'))
  const path = join(folder, 'large.parquet')
  const file = openSync(path, 'w')
  writeSync(file, whole, 0, footer, 0)
  // A hole, which takes no space on the disk.
  writeSync(file, whole, footer, whole.length - footer, footer + (300 << 20))
  closeSync(file)
  const told: [number, number][] = []
  const gathering = gather({ defaultJudge })
  await readFiles([path], gathering, (done, total) => told.push([done, total]))
  rmSync(folder, { recursive: true })
  const { rows, problems } = gathering.result()
  expect([rows.length, problems]).toEqual([8, []])
  const [done, total] = told.at(-1)!
  expect(done).toBe(total)
  expect(told.map(([at]) => at)).toEqual(told.map(([at]) => at).sort((a, b) => a - b))
})

test('a decimal with digits without end is refused before a value is written', () => {
  const element = { name: 'price', type: 'INT64', converted_type: 'DECIMAL', scale: 1_000_000_000 } as const
  expect(() => toText({ children: [], count: 1, element, path: ['price'] })).toThrow(
    /column "price" is of type DECIMAL with the scale 1000000000, which is not read/,
  )
})
