import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { watchMachine } from '../../daemon/control/machine.ts'

const soon = (): Promise<void> => new Promise((next) => setTimeout(next, 10))

test('the size of the state is measured in the background, files in folders included', async () => {
  const state = await mkdtemp(join(tmpdir(), 'waggle-machine-'))
  await writeFile(join(state, 'one'), 'x'.repeat(1000))
  const look = watchMachine({ state })
  expect(look().stateBytes).toBeUndefined()
  await expect.poll(() => look().stateBytes, { timeout: 10_000 }).toBe(1000)
  await rm(state, { recursive: true })
})

test('a blocked main thread shows as a delay, and stays in sight for a while', async () => {
  const look = watchMachine({ state: '/nonexistent' })
  await soon()
  const until = performance.now() + 200
  while (performance.now() < until);
  await expect.poll(() => look().loopLagMs, { timeout: 10_000 }).toBeGreaterThan(100)
  expect(look().loopLagMs).toBeGreaterThan(100)
})
