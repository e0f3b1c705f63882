import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadModel } from '../../daemon/policy/model.ts'
import { cacheRoot, listCached } from '../../daemon/policy/sources/cache.ts'
import { findModel } from '../../daemon/policy/sources/find.ts'
import { hubReference, parseReference } from '../../daemon/policy/sources/reference.ts'
import type { DownloadParts } from '../../daemon/policy/sources/repository.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { COMMIT, type Hub, startHub } from './hub-server.ts'

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))
const FILES = [
  'config.json',
  'generation_config.json',
  'model.safetensors',
  'tokenizer.json',
  'tokenizer_config.json',
]

let hub: Hub
let home: string
let waits: number[]
let free: number | undefined

const by: DownloadParts = {
  disk,
  fetch,
  async sleep(ms) {
    waits.push(ms)
  },
  freeBytes: async () => free,
}
const find = (change: object = {}, env: NodeJS.ProcessEnv = {}) =>
  findModel(
    {
      reference: 'org/tiny',
      bundled: DEFAULT,
      base: home,
      env: { HF_HOME: home, HF_ENDPOINT: hub.endpoint, ...env },
      homedir: home,
      ...change,
    },
    by,
  )
const repository = () => join(home, 'hub', 'models--org--tiny')
const blobs = async () => (await readdir(join(repository(), 'blobs'))).sort()

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'waggle-hub-'))
  waits = []
  free = undefined
  const files: Record<string, Uint8Array> = {}
  for (const name of FILES) files[name] = await readFile(join(DEFAULT, name))
  hub = await startHub({
    ...files,
    'README.md': '# tiny',
    'evil.py': 'print()',
    'pytorch_model.bin': 'pickle',
  })
})
afterEach(async () => {
  await hub.close()
  await rm(home, { recursive: true })
})

describe('names of models', () => {
  test('a name on the hub, with a revision or without', () => {
    expect(hubReference('Qwen/Qwen2.5-0.5B')).toEqual({ name: 'Qwen/Qwen2.5-0.5B', revision: 'main' })
    expect(hubReference('a/b@refs/pr/1')).toEqual({ name: 'a/b', revision: 'refs/pr/1' })
    for (const text of ['a', './a/b', '/a/b', 'a/b/c', '../b', 'a/..', 'a--b/c', 'a/b c', 'C:\\a']) {
      expect(hubReference(text), text).toBeUndefined()
    }
    for (const text of ['a/b@', 'a/b@../x', 'a/b@x/../y', 'a/b@/x'])
      expect(() => hubReference(text), text).toThrow(/no revision/)
  })

  test('a folder of that name counts more', () => {
    expect(parseReference('models/mine', () => true)).toEqual({ kind: 'directory', path: 'models/mine' })
    expect(parseReference('models/mine', () => false)).toMatchObject({ kind: 'hub' })
    expect(parseReference('default', () => true)).toEqual({ kind: 'bundled' })
  })

  test("the cache is where Hugging Face's tools have it", () => {
    expect(cacheRoot({}, '/h')).toBe('/h/.cache/huggingface/hub')
    expect(cacheRoot({ XDG_CACHE_HOME: '/c' }, '/h')).toBe('/c/huggingface/hub')
    expect(cacheRoot({ HF_HOME: '/f', XDG_CACHE_HOME: '/c' }, '/h')).toBe('/f/hub')
    expect(cacheRoot({ HF_HUB_CACHE: '/x', HF_HOME: '/f' }, '/h')).toBe('/x')
  })
})

describe('fetching', () => {
  test('a model by name is fetched, pinned, checked and loaded; the next time the hub is not asked', async () => {
    const seen: number[] = []
    const found = await find({
      onProgress: ({ done, total }: { done: number; total: number }) => seen.push(done / total),
    })
    expect(found).toMatchObject({
      commit: COMMIT,
      name: 'org/tiny',
      directory: join(repository(), 'snapshots', COMMIT),
    })
    expect((await readdir(found.directory)).sort()).toEqual(['README.md', ...FILES])
    expect(await readlink(join(found.directory, 'config.json'))).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/)
    expect(await readlink(join(found.directory, 'model.safetensors'))).toMatch(
      /^\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/,
    )
    expect(await readFile(join(repository(), 'refs', 'main'), 'utf8')).toBe(COMMIT)
    expect(seen.at(-1)).toBe(1)
    expect([...seen].sort((a, b) => a - b)).toEqual(seen)
    const model = await loadModel(found.directory, { disk })
    expect(model.digest).toBe((await loadModel(DEFAULT, { disk })).digest)

    const before = hub.requests.length
    expect(await find()).toMatchObject({ commit: COMMIT })
    expect(await find({ reference: `org/tiny@${COMMIT}` }, { HF_HUB_OFFLINE: '1' })).toMatchObject({
      commit: COMMIT,
    })
    expect(hub.requests).toHaveLength(before)
    expect(await listCached({ root: join(home, 'hub') }, { disk })).toEqual([
      { name: 'org/tiny', commit: COMMIT, refs: ['main'], directory: found.directory, complete: true },
    ])
  })

  test('only files that a model is loaded from are fetched', async () => {
    await find()
    expect(hub.requests.some(({ path }) => /\.(py|bin)$/.test(path))).toBe(false)
  })

  test('a connection that breaks is made again, and goes on where it was', async () => {
    hub.fault.cut = { file: 'model.safetensors', after: 100_000, times: 3 }
    await find()
    const ranges = hub.requests.filter(({ host }) => host === 'storage').map(({ range }) => range)
    expect(ranges).toHaveLength(4)
    const starts = ranges.map((range) => Number(/bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0))
    expect(starts[0]).toBe(0)
    // What was on its way when the connection broke may be lost, what was written is not.
    expect([...starts].sort((a, b) => a - b)).toEqual(starts)
  })

  test('a fetch that was interrupted goes on the next time, and is not taken for a model meanwhile', async () => {
    hub.fault.cut = { file: 'model.safetensors', after: 200_000, times: 1 }
    const stop = new AbortController()
    const interrupted = find({
      signal: stop.signal,
      onProgress: ({ file, done }: { file: string; done: number }) => {
        if (file === 'model.safetensors' && done > 100_000) stop.abort(new Error('interrupted'))
      },
    })
    await expect(interrupted).rejects.toThrow(/interrupted/)
    expect((await blobs()).filter((name) => name.endsWith('.incomplete'))).toHaveLength(1)
    await expect(find({}, { HF_HUB_OFFLINE: '1' })).rejects.toThrow(/not in .* HF_HUB_OFFLINE/)
    hub.requests.length = 0
    await find()
    expect(hub.requests.find(({ host }) => host === 'storage')?.range).toMatch(/^bytes=[1-9]\d*-$/)
    expect((await blobs()).filter((name) => name.endsWith('.incomplete'))).toEqual([])
  })

  test('a server without ranges is read from the start', async () => {
    hub.fault.noRanges = true
    hub.fault.cut = { file: 'model.safetensors', after: 100_000, times: 1 }
    const { directory } = await find()
    const written = await readFile(join(directory, 'model.safetensors'))
    expect(written.equals(hub.files.get('model.safetensors')!)).toBe(true)
  })

  test('a connection that gives nothing any more is given up, and what came stays', async () => {
    hub.fault.cut = { file: 'model.safetensors', after: 0, times: 99 }
    await expect(find()).rejects.toMatchObject({
      code: 'E_MODEL',
      message: expect.stringMatching(/cannot be reached/),
    })
  })

  test('a busy hub is waited for as long as it asks', async () => {
    hub.fault.busy = { part: '/api/', status: 429, times: 2, retryAfter: '7' }
    await find()
    expect(waits).toEqual([7000, 7000])
    await rm(home, { recursive: true })
    hub.fault.busy = { part: '/resolve/', status: 503, times: 2 }
    waits = []
    await find()
    expect(waits).toEqual([1000, 2000])
  })

  test('files whose bytes differ from the listed digest are deleted', async () => {
    for (const file of ['tokenizer.json', 'model.safetensors']) {
      hub.fault.wrong = file
      await expect(find()).rejects.toThrow(new RegExp(`${file} is not what the hub promised`))
      expect((await blobs()).filter((name) => name.endsWith('.incomplete'))).toEqual([])
    }
    delete hub.fault.wrong
    await find()
  })

  test('more bytes than were listed are not written', async () => {
    hub.fault.long = 'model.safetensors'
    await expect(find()).rejects.toThrow(/longer than the \d+ bytes/)
  })

  test('the token is sent only to the hub', async () => {
    hub.fault.token = 'hf_secret'
    await expect(find()).rejects.toThrow(/does not let this node see org\/tiny/)
    await find({}, { HF_TOKEN: 'hf_secret' })
    expect(hub.requests.filter(({ host }) => host === 'storage').some(({ authorized }) => authorized)).toBe(
      false,
    )
    expect(hub.requests.filter(({ host }) => host === 'storage').length).toBeGreaterThan(0)
  })

  test('a missing, unsafe or unreachable model is reported in one sentence', async () => {
    await expect(find({ reference: 'org/none' })).rejects.toThrow(/has no model org\/none/)
    await expect(find({ reference: 'org/tiny@v9' })).rejects.toThrow(/has no model org\/tiny@v9/)
    await expect(find({}, { HF_ENDPOINT: 'ftp://x' })).rejects.toThrow(/HF_ENDPOINT is "ftp:\/\/x"/)
    hub.files.delete('model.safetensors')
    await expect(find()).rejects.toMatchObject({
      message: expect.stringMatching(/no model.safetensors/),
      hint: expect.stringMatching(/pickle/),
    })
    await hub.close()
    await expect(find()).rejects.toThrow(/cannot be reached: ECONNREFUSED/)
    hub = await startHub({})
  })

  test('a full disk is reported before the weights are fetched', async () => {
    free = 100e6
    await expect(find()).rejects.toThrow(/MB are needed in .*, 100 MB are free/)
    expect(hub.requests.some(({ host }) => host === 'storage')).toBe(false)
  })

  test('the index names the shards', async () => {
    const weights = hub.files.get('model.safetensors')!
    hub.files.delete('model.safetensors')
    const { weight_map } = { weight_map: {} as Record<string, string> }
    const header = JSON.parse(
      weights.subarray(8, 8 + Number(weights.readBigUInt64LE(0))).toString(),
    ) as object
    for (const name of Object.keys(header))
      if (name !== '__metadata__') weight_map[name] = 'part-1.safetensors'
    hub.files.set('model.safetensors.index.json', Buffer.from(JSON.stringify({ weight_map })))
    await expect(find()).rejects.toThrow(/the index names part-1.safetensors, which the hub does not have/)
    hub.files.set('part-1.safetensors', weights)
    hub.files.set('consolidated.safetensors', weights)
    const { directory } = await find()
    expect((await loadModel(directory, { disk })).digest).toBe((await loadModel(DEFAULT, { disk })).digest)
    expect(await readdir(directory)).not.toContain('consolidated.safetensors')
  })
})

test('links in a snapshot lead to the blobs beside it and nowhere else', async () => {
  const { directory } = await find()
  const outside = join(home, 'secret.json')
  await writeFile(outside, await readFile(join(DEFAULT, 'config.json')))
  await rm(join(directory, 'config.json'))
  await symlink(outside, join(directory, 'config.json'))
  await expect(loadModel(directory, { disk })).rejects.toThrow(/leads out of the model folder/)

  const plain = join(home, 'plain')
  await mkdir(plain)
  for (const name of FILES) await symlink(join(DEFAULT, name), join(plain, name))
  await expect(loadModel(plain, { disk })).rejects.toThrow(/leads out of the model folder/)
})
