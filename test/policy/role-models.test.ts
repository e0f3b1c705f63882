// The memory plan of a node whose plugin has a model of its own: it is trained as the node's model is.

import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { resolvePaths } from '../../daemon/config/paths.ts'
import { configSchema } from '../../daemon/config/schema.ts'
import { type Models, openModels } from '../../daemon/node/policy/models.ts'
import { openPolicies } from '../../daemon/node/policy/policy.ts'
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

test('a learning rate that is set while the node runs holds for a plugin’s model, too', async () => {
  let config = configSchema.parse({
    ...{ tasks: [], training: { learning_rate: 1e-20, method: 'lora' } },
    engine: { kind: 'tfjs', memory_gb: 2, threads: 2 },
  })
  const closers: (() => Promise<unknown>)[] = []
  const { roles } = await openPolicies(
    {
      ...{ config, settings: () => config, models: await modelsOf('lora'), restored: undefined },
      ...{ paths: resolvePaths({ home: '/home' }, at), env: {}, seed: 1, stopStrings: false, cores: 2 },
      roles: [{ name: 'writer', trainable: true, model: undefined, learningRate: undefined }],
    },
    {
      ...{ log: () => {}, onNotice() {}, fetch, sleep: async () => {} },
      closers: { add: (close) => void closers.push(close), async closeAll() {} },
    },
  )
  const writer = roles.get('writer')!
  const texts = [0, 1].map((reward) => ({
    ...{ conditioning: Int32Array.of(5, 6), tokens: Int32Array.of(7 + reward), text: '', reward },
    logprobs: Float32Array.of(-1),
  }))
  /** An adapter's second factor begins at zero. */
  const learnt = async (): Promise<number> => {
    await writer.learn([{ role: 'writer', rollouts: texts }])
    const { weights } = await writer.state()
    const second = Object.keys(weights).filter((name) => name.endsWith('.lora_B.weight'))
    return Math.max(...second.flatMap((name) => [...weights[name]!].map(Math.abs)))
  }
  expect(await learnt()).toBeLessThan(1e-19)
  config = { ...config, training: { ...config.training, learning_rate: 0.1 } }
  expect(await learnt()).toBeGreaterThan(0.01)
  for (const close of closers.reverse()) await close()
})
