import { expect, test } from 'vitest'
import { promptsFor } from '../../daemon/rollout/loop.ts'

test('a round has as many prompts as should fill the room with useful groups, within the config', () => {
  expect(promptsFor(2, 1, 16)).toBe(2)
  expect(promptsFor(2, 0.4, 16)).toBe(5)
  expect(promptsFor(2, 0.01, 16)).toBe(16)
})
