import { expect, test } from 'vitest'
import { watchMachine } from '../../daemon/control/journal/machine.ts'

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('a blocked main thread shows as a delay, and stays in sight for a while', async () => {
  const look = watchMachine()
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
