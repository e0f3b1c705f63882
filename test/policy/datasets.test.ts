// Datasets on the hub, against a server that speaks its protocol.

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findDataset } from '../../daemon/policy/sources/datasets.ts'
import type { DownloadParts } from '../../daemon/policy/sources/repository.ts'
import { chooseFiles, type Part } from '../../daemon/policy/sources/splits.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { datasetText, loadTasks } from '../../daemon/wiring/datasets.ts'
import { COMMIT, type Hub, startHub } from './hub-server.ts'

const PARQUET = join(import.meta.dirname, '../rollout/parquet/zstd.parquet')
const CARD = {
  license: 'mit',
  configs: [
    {
      config_name: 'main',
      data_files: [
        { split: 'train', path: 'main/train-*' },
        { split: 'test', path: 'main/test-*' },
      ],
    },
    { config_name: 'socratic', data_files: [{ split: 'train', path: 'socratic/train-*' }] },
  ],
}
const REFERENCE = 'hf://datasets/org/sums'

let hub: Hub
let home: string
const by: DownloadParts = { disk, fetch, sleep: async () => {}, freeBytes: async () => undefined }
const find = (change: object = {}, env: NodeJS.ProcessEnv = {}) =>
  findDataset(
    {
      reference: REFERENCE,
      part: { subset: 'main', split: 'train' },
      env: { HF_HOME: home, HF_ENDPOINT: hub.endpoint, ...env },
      homedir: home,
      ...change,
    },
    by,
  )

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'waggle-hub-'))
  const rows = await readFile(PARQUET)
  hub = await startHub(
    {
      'README.md': '# sums',
      'sums.py': 'print()',
      'main/train-00000-of-00002.parquet': rows,
      'main/train-00001-of-00002.parquet': rows,
      'main/test-00000-of-00001.parquet': rows,
      'socratic/train-00000-of-00001.parquet': rows,
    },
    { name: 'org/sums', card: CARD },
  )
})
afterEach(async () => {
  await hub.close()
  await rm(home, { recursive: true })
})

test('the split of a subset becomes a task, and its commit is told', async () => {
  const told: string[] = []
  const tasks = await loadTasks([{ name: 'sums', dataset: REFERENCE, subset: 'main' }], {
    find: (reference, part) => find({ reference, part }),
    onDataset: (facts) => told.push(datasetText(facts)),
  })
  expect(tasks.at(-1)!.name).toBe('sums')
  expect(told).toEqual([
    `sums@${COMMIT}: 8 questions, 1 of them held out; 8 rows repeat others and are left out`,
  ])
  const asked = hub.requests.map(({ path }) => path).filter((path) => /resolve/.test(path))
  // Both files have the same bytes, so one download.
  expect(asked).toEqual([`/datasets/org/sums/resolve/${COMMIT}/main/train-00000-of-00002.parquet`])
})

test('what was fetched is not asked for again, also without a network', async () => {
  const first = await find()
  const asked = hub.requests.length
  expect(await find({}, { HF_HUB_OFFLINE: '1' })).toEqual(first)
  expect(hub.requests).toHaveLength(asked)
  await find({ part: { split: 'train', subset: 'socratic' } })
  expect(hub.requests[asked]!.path).toBe(`/api/datasets/org/sums/revision/${COMMIT}`)
  await expect(
    find({ part: { subset: 'main', split: 'test' } }, { HF_HUB_OFFLINE: '1' }),
  ).rejects.toMatchObject({
    code: 'E_DATASET',
    message: expect.stringMatching(/org\/sums \(main, test\) is not in .*HF_HUB_OFFLINE is set/),
  })
})

test('a record of what was fetched that is no such record is not believed', async () => {
  const first = await find()
  const folder = join(home, 'hub/datasets--org--sums/waggle')
  const [name] = await readdir(folder)
  for (const text of ['[', '["../../../secret.jsonl"]', '["main/gone.parquet"]']) {
    await writeFile(join(folder, name!), text)
    const asked = hub.requests.length
    expect(await find()).toEqual(first)
    expect(hub.requests.length).toBeGreaterThan(asked)
  }
})

test('a download that breaks off goes on where it was, tells how far it is, and keeps the token to the hub', async () => {
  const file = 'main/test-00000-of-00001.parquet'
  hub.fault.token = 'secret'
  hub.files.set(file, Buffer.alloc(1 << 20, 7))
  hub.fault.cut = { file, after: 500_000, times: 1 }
  const told: [number, number][] = []
  await find(
    {
      part: { subset: 'main', split: 'test' },
      onProgress: ({ done, total }: { done: number; total: number }) => told.push([done, total]),
    },
    { HF_TOKEN: 'secret' },
  )
  const size = hub.files.get(file)!.length
  expect(told.at(-1)).toEqual([size, size])
  const stored = hub.requests.filter(({ host }) => host === 'storage')
  expect(stored.map(({ range, authorized }) => [range, authorized])).toEqual([
    [undefined, false],
    [expect.stringMatching(/^bytes=[1-9]\d*-$/), false],
  ])
})

test('what cannot be had is told with what there is', async () => {
  await expect(find({ part: { split: 'train' } })).rejects.toMatchObject({
    code: 'E_DATASET',
    message: expect.stringContaining('name its subset (main, socratic)'),
    hint: expect.stringContaining('/datasets/org/sums shows them'),
  })
  await expect(find({ reference: 'hf://datasets/org/other' })).rejects.toMatchObject({
    code: 'E_DATASET',
    message: expect.stringMatching(/has no dataset org\/other/),
  })
  await expect(find({ reference: 'hf://models/org/x' })).rejects.toThrow(/names no dataset on the hub/)
})

const chosen = (part: Part, listed: string[], told?: unknown): unknown => {
  const result = chooseFiles(part, { listed, told })
  return 'files' in result ? result.files : result.problem
}
const train = { split: 'train' }

test('without a card, a split is a word in a path and a subset a folder', () => {
  const shards = ['data/train-00000-of-00001.parquet', 'data/test-00000-of-00001.parquet', 'README.md']
  expect(chosen(train, shards)).toEqual([shards[0]])
  expect(chosen({ split: 'validation' }, shards)).toBe('it has no split "validation" (train, test)')
  expect(chosen({ split: 'en', subset: 'x' }, shards)).toBe('it has no "x": take a subset (data)')
  const folders = ['de/train/0.jsonl', 'en/train/0.jsonl', 'en/test/0.jsonl']
  expect(chosen(train, folders)).toBe('name its subset (de, en)')
  expect(chosen({ ...train, subset: 'en' }, folders)).toEqual(['en/train/0.jsonl'])
  // No split is named anywhere: all of it is for training. "restraint" names none.
  expect(chosen(train, ['restraint.csv'])).toEqual(['restraint.csv'])
  expect(chosen(train, ['train.py', 'train.json'])).toMatch(/no code of a dataset is run/)
})

test('a card names files by patterns; of several forms of the same rows one is read', () => {
  const card = (data_files: unknown) => ({ configs: [{ config_name: 'default', data_files }] })
  const listed = ['a.csv', 'b/c/d.parquet', 'b/train.parquet', 'b/train.jsonl']
  expect(chosen(train, listed, card('b/train.*'))).toEqual(['b/train.jsonl'])
  expect(chosen(train, listed, card('b/**/?.parquet'))).toEqual(['b/c/d.parquet'])
  expect(chosen(train, listed, card([{ split: 'train', path: ['a*', 'b/*'] }]))).toEqual(['a.csv'])
  expect(chosen(train, listed, card([{ split: 'dev', path: 'a.csv' }]))).toBe('it has no split "train" (dev)')
  expect(chosen(train, listed, card('x/*'))).toMatch(/is in x\/\*, which is not Parquet/)
  // A card of another form counts as none.
  expect(chosen(train, ['train.csv'], card(3))).toEqual(['train.csv'])
  expect(chosen(train, [`${'a'.repeat(5000)}.csv`], card(`${'*a'.repeat(500)}b.csv`))).toMatch(/not Parquet/)
})
