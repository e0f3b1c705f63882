import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listLocal } from '../../daemon/policy/sources/local.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'waggle-local-'))
})
afterEach(() => rm(home, { recursive: true }))

async function put(path: string, content: string): Promise<string> {
  const file = join(home, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, content)
  return file
}

const list = (env: NodeJS.ProcessEnv = {}) => listLocal({ env, homedir: home }, { disk })
const manifest = (digest: string) =>
  JSON.stringify({
    schemaVersion: 2,
    layers: [
      { mediaType: 'application/vnd.ollama.image.template', digest: `sha256:${'f'.repeat(64)}` },
      { mediaType: 'application/vnd.ollama.image.model', digest },
    ],
  })
const HASH = 'a1'.repeat(32)

test("Ollama's models are found through their manifests", async () => {
  const blob = await put(`.ollama/models/blobs/sha256-${HASH}`, 'GGUF')
  await put('.ollama/models/manifests/registry.ollama.ai/library/smollm2/135m', manifest(`sha256:${HASH}`))
  await put('.ollama/models/manifests/hf.co/org/tiny-GGUF/Q4_0', manifest(`sha256:${HASH}`))
  expect(await list()).toEqual([
    { name: 'hf.co/org/tiny-GGUF:Q4_0', from: 'Ollama', path: blob, bytes: 4 },
    { name: 'smollm2:135m', from: 'Ollama', path: blob, bytes: 4 },
  ])
})

test('OLLAMA_MODELS says where they are', async () => {
  const blob = await put(`elsewhere/blobs/sha256-${HASH}`, 'GGUF')
  await put('elsewhere/manifests/registry.ollama.ai/library/qwen3/0.6b', manifest(`sha256:${HASH}`))
  expect(await list({ OLLAMA_MODELS: join(home, 'elsewhere') })).toMatchObject([
    { name: 'qwen3:0.6b', path: blob },
  ])
})

test.each([
  ['not JSON', '{'],
  ['no layers', '{"layers": 7}'],
  ['no weights', '{"layers": [null, {}]}'],
  ['a digest that leads elsewhere', manifest('sha256:../../../etc/passwd')],
  ['weights that are not there', manifest(`sha256:${'0'.repeat(64)}`)],
  ['too long', manifest(`sha256:${HASH}`) + ' '.repeat(100_000)],
])('a manifest with %s is left out', async (_, text) => {
  await put(`.ollama/models/blobs/sha256-${HASH}`, 'GGUF')
  await put('.ollama/models/manifests/registry.ollama.ai/library/x/latest', text)
  expect(await list()).toEqual([])
})

test("LM Studio's folders and the hub's cache are searched, but not for projectors", async () => {
  const a = await put('.lmstudio/models/org/tiny-GGUF/tiny-Q8_0.gguf', '12345')
  await put('.lmstudio/models/org/tiny-GGUF/mmproj-tiny.gguf', '1')
  await put('.lmstudio/models/org/tiny-GGUF/README.md', '1')
  const b = await put('.cache/lm-studio/models/org/old/old.gguf', '1')
  const commit = '0'.repeat(40)
  const blob = await put('.cache/huggingface/hub/models--org--tiny/blobs/abc', '123')
  const snapshot = join(home, '.cache/huggingface/hub/models--org--tiny/snapshots', commit)
  await mkdir(snapshot, { recursive: true })
  await symlink(blob, join(snapshot, 'tiny.gguf'))
  await symlink(join(home, 'nowhere'), join(snapshot, 'gone.gguf'))
  expect(await list()).toEqual([
    { name: 'org/tiny-GGUF/tiny-Q8_0.gguf', from: 'LM Studio', path: a, bytes: 5 },
    { name: 'org/old/old.gguf', from: 'LM Studio', path: b, bytes: 1 },
    { name: 'org/tiny/tiny.gguf', from: 'hub', path: join(snapshot, 'tiny.gguf'), bytes: 3 },
  ])
})

test('nothing is found where there is nothing', async () => {
  expect(await list()).toEqual([])
})
