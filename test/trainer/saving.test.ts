// When the whole node is saved by itself.

import { expect, test } from 'vitest'
import { createSaving } from '../../daemon/node/saving.ts'

const FIVE_MINUTES = 300_000

/** A node at version 7 that has run for five minutes, and has averaged so often meanwhile. */
function isDueAfter(averages: number, { isRestored }: { isRestored: boolean }): boolean {
  const policy = { changes: 3, reference: () => ({ version: 7 }) }
  let ms = 0
  const saving = createSaving({
    ...{ isRestored, policies: { policy }, models: { model: {} } },
    schedule: () => ({ every_steps: 50, every_seconds: 300 }),
    ...{ mayWrite: () => true, monotonic: () => ms },
  } as unknown as Parameters<typeof createSaving>[0])
  policy.changes += averages
  ms = FIVE_MINUTES
  return saving.isSaveDue()
}

for (const isRestored of [true, false]) {
  const node = isRestored ? 'a node that continues' : 'a new node'
  test(`${node} saves what it averaged without a step of its own`, () => {
    expect(isDueAfter(1, { isRestored })).toBe(true)
  })

  test(`${node} saves nothing while its weights stay as they are`, () => {
    expect(isDueAfter(0, { isRestored })).toBe(false)
  })
}
