import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bytesOfFiles, pushModel } from '../../daemon/policy/export/push.ts'
import { hubToken } from '../../daemon/policy/sources/token.ts'
import { startUploadHub, type UploadHub } from './upload-server.ts'

let hub: UploadHub
let folder: string
let files: string[]
const WEIGHTS = randomBytes(300_000)

beforeEach(async () => {
  hub = await startUploadHub()
  folder = mkdtempSync(join(tmpdir(), 'waggle-push-test-'))
  files = Object.entries({
    'README.md': '# a card',
    'config.json': '{"model_type":"llama"}',
    'model.safetensors': WEIGHTS,
  }).map(([name, content]) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  })
})
afterEach(async () => {
  await hub.close()
  rmSync(folder, { recursive: true })
})

const push = (change: Partial<Parameters<typeof pushModel>[0]> = {}, fetch = globalThis.fetch) =>
  pushModel(
    {
      ...{ name: 'ada/sorter', files, title: 'Step 9', isPublic: false, token: 'hf_test' },
      ...{ endpoint: hub.endpoint, ...change },
    },
    { fetch },
  )

test('a model becomes a private repository with one commit of all its files', async () => {
  const sent: number[] = []
  const { url, commit } = await push({ onBytes: (done) => sent.push(done) })
  expect(url).toBe(`${hub.endpoint}/ada/sorter`)
  expect(commit).toMatch(/^c0ffee/)
  expect(hub.repositories.get('ada/sorter')).toEqual({ visibility: 'private' })
  expect(hub.commits).toHaveLength(1)
  expect(hub.commits[0]!.summary).toBe('Step 9')
  expect(Object.keys(hub.commits[0]!.files).sort()).toEqual(['README.md', 'config.json', 'model.safetensors'])
  expect(hub.commits[0]!.files['model.safetensors']!.equals(WEIGHTS)).toBe(true)
  expect(String(hub.commits[0]!.files['README.md'])).toBe('# a card')
  expect(sent.at(-1)).toBe(WEIGHTS.length)
  expect(await bytesOfFiles(files)).toBe(WEIGHTS.length + 8 + 22)
})

test('the token goes to the hub and not to its storage', async () => {
  await push()
  expect(new Set(hub.requests.map(({ at, authorized }) => `${at} ${authorized}`))).toEqual(
    new Set(['hub true', 'storage false']),
  )
})

test('a repository that is there gets another commit, and what it has is not sent again', async () => {
  await push({ isPublic: true })
  await push({ card: '# another card', files: files.slice(1) })
  expect(hub.repositories.get('ada/sorter')).toEqual({ visibility: 'public' })
  expect(hub.commits).toHaveLength(2)
  expect(String(hub.commits[1]!.files['README.md'])).toBe('# another card')
  expect(hub.requests.filter(({ at }) => at === 'storage')).toHaveLength(1)
})

test('large files go in parts if the hub asks for that', async () => {
  hub.partBytes = 100_000
  const sent: number[] = []
  await push({ onBytes: (done) => sent.push(done) })
  expect(hub.requests.filter(({ at }) => at === 'storage')).toHaveLength(3)
  expect(hub.commits[0]!.files['model.safetensors']!.equals(WEIGHTS)).toBe(true)
  expect(sent.at(-1)).toBe(WEIGHTS.length)
})

test.each([
  [401, /does not let this token write to ada\/sorter/],
  [403, /does not let this token write to ada\/sorter/],
  [500, /ada\/sorter was not pushed/],
])('a hub that answers %i makes no commit, and the error says why', async (status, message) => {
  hub.refuses = status
  await expect(push()).rejects.toMatchObject({ code: 'E_MODEL', message: expect.stringMatching(message) })
  expect(hub.commits).toEqual([])
})

test('a storage that is not encrypted gets nothing from a hub that is', async () => {
  hub.storageOrigin = 'http://storage.example'
  const asked: string[] = []
  const secure = async (input: unknown, init?: RequestInit) => {
    asked.push(String(input))
    return fetch(String(input).replace('https://hub.example', hub.endpoint), init)
  }
  const promise = push({ endpoint: 'https://hub.example' }, secure as typeof fetch)
  await expect(promise).rejects.toMatchObject({
    message: 'hub.example wants the files at http://storage.example',
  })
  expect(asked.every((url) => url.startsWith('https://hub.example/'))).toBe(true)
})

test("the token is that of HF_TOKEN, or of the file that the hub's own tools write", () => {
  writeFileSync(join(folder, 'token'), 'hf_file\n')
  expect(hubToken({ HF_TOKEN: 'hf_env', HF_HOME: folder }, '/nowhere')).toBe('hf_env')
  expect(hubToken({ HF_HOME: folder }, '/nowhere')).toBe('hf_file')
  expect(hubToken({ HF_TOKEN_PATH: join(folder, 'token') }, '/nowhere')).toBe('hf_file')
  expect(hubToken({}, '/nowhere')).toBeUndefined()
})
