import { expect, test } from 'vitest'
import { createLiveConfig } from '../../daemon/config/live.ts'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { createReconfigure } from '../../daemon/node/reconfigure.ts'

function opened(change: (next: ReturnType<typeof defaultConfig>) => void, checkConfig: () => Promise<void>) {
  const config = createLiveConfig(defaultConfig())
  const reconfigure = createReconfigure(
    { config, canMix: true, file: 'config.toml' },
    {
      readConfig(settings) {
        const next = defaultConfig()
        if ('training.learning_rate' in settings) next.training.learning_rate = 2e-4
        change(next)
        return next
      },
      ...{ checkConfig, log: () => {}, onChange: () => {} },
    },
  )
  return { config, reconfigure }
}

const refuse = () => Promise.reject(new Error('there is no such model'))

test('a reload refuses what a restart would fail with, and changes nothing', async () => {
  const { config, reconfigure } = opened((next) => {
    next.model.path = '/nowhere'
    next.training.learning_rate = 1e-3
  }, refuse)
  await expect(reconfigure({})).rejects.toThrow('no such model')
  expect(config.settings().training.learning_rate).toBe(defaultConfig().training.learning_rate)
})

test('a reload names what waits for a restart that can come', async () => {
  const { reconfigure } = opened(
    (next) => {
      next.model.path = '/elsewhere'
    },
    async () => {},
  )
  expect(await reconfigure({})).toEqual({ changed: [], restart: ['model.path'] })
})

test('what changes at once needs no look at files', async () => {
  const { config, reconfigure } = opened(() => {}, refuse)
  const { changed } = await reconfigure({ 'training.learning_rate': '2e-4' })
  expect(changed.map(({ path }) => path)).toEqual(['training.learning_rate'])
  expect(config.settings().training.learning_rate).toBe(2e-4)
})
