import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { watchMachine } from '../../daemon/control/journal/machine.ts'

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

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
  // The first interval is no measure yet, so that one block may go unseen.
  await expect
    .poll(
      () => {
        block(150)
        return look().loopLagMs
      },
      { timeout: 10_000 },
    )
    .toBeGreaterThan(100)
  expect(look().loopLagMs).toBeGreaterThan(100)
})
