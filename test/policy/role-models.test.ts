// The memory plan of a node whose plugin has a model of its own: it is trained as the node's model is.

import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { resolvePaths } from '../../daemon/config/paths.ts'
import { configSchema } from '../../daemon/config/schema.ts'
import { type Models, openModels } from '../../daemon/node/policy/models.ts'
import type { Manifest } from '../../daemon/store/checkpoints/checkpoints.ts'
import { NO_PHASES } from '../../protocol/api/index.ts'

const bundled = fileURLToPath(new URL('../../models/default', import.meta.url))
const at = { cwd: '/', homedir: '/', tmpdir: '/', env: {}, uid: 0, platform: 'linux' }

function modelsOf(method: 'auto' | 'lora' | 'full', checkpoints: Manifest[] = []): Promise<Models> {
  return openModels(
    {
      config: configSchema.parse({ tasks: [], engine: { memory_gb: 2 }, training: { method } }),
      paths: resolvePaths({ home: '/home' }, at),
      roles: [{ name: 'writer', trainable: true, model: 'default', learningRate: undefined }],
      ...{ tasks: [], teachers: [], writes: false, checkpoints, lineage: undefined },
      ...{ bundled, env: {}, homedir: '/' },
    },
    {
      ...{ log: () => {}, tell: () => {}, phases: NO_PHASES, signal: new AbortController().signal },
      ...{ fetch, sleep: async () => {} },
    },
  )
}

/** Bytes that are left for the node's own model. */
const budgetOf = async (...asked: Parameters<typeof modelsOf>): Promise<number> =>
  (await modelsOf(...asked)).plan.budget

let adapter: number
let full: number
beforeAll(async () => {
  adapter = await budgetOf('lora')
  full = await budgetOf('full')
})

test('a plugin’s model takes less memory with an adapter than with all parameters', () => {
  expect(adapter).toBeGreaterThan(full)
})

test('by default a new home has an adapter on a plugin’s model', async () => {
  expect(await budgetOf('auto')).toBe(adapter)
})

test('a home whose checkpoints train all parameters trains those of a plugin’s model', async () => {
  const { model, found } = await modelsOf('auto')
  const meta = { base: { name: 'default', directory: found.directory } }
  const checkpoint = { step: 1, lineage: model.digest, files: {}, meta } as unknown as Manifest
  expect(await budgetOf('auto', [checkpoint])).toBe(full)
})
