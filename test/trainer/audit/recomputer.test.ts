import { expect, test, vi } from 'vitest'
import { defaultConfig } from '../../../daemon/config/schema.ts'
import { createPluginHost } from '../../../daemon/host/host.ts'
import { recomputer } from '../../../daemon/node/audits/recomputer.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import { SPEC } from '../../engine/model.ts'

vi.mock('../../../daemon/engine/select.ts', () => ({
  createEngines: () => Promise.reject(new Error('no engine')),
}))
vi.mock('../../../daemon/host/host.ts', () => ({ createPluginHost: vi.fn() }))

test('an audit whose engine cannot be opened closes its plugins', async () => {
  const close = vi.fn(async () => {})
  vi.mocked(createPluginHost).mockResolvedValue({ close } as never)
  const recompute = recomputer(
    { settings: defaultConfig, paths: { config: '/a/config.toml', plugins: '/a/plugins' }, threads: 1 },
    {
      policy: { spec: SPEC, initial: {} },
      models: { model: {}, plan: {} } as never,
      ...{ known: TASKS, budget: {} as never, monotonic: () => 0, sleep: async () => {}, log() {} },
    },
  )
  await expect(recompute({} as never)).rejects.toThrow('no engine')
  expect(close).toHaveBeenCalledOnce()
})
