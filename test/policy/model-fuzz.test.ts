import { expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import { fuzzModels } from './fuzz-model.ts'

// scripts/bench/models/fuzz.ts runs 100,000.
test('a thousand damaged models load or give one clear error each, and nothing outside is read', async () => {
  const { loaded, refused, messages, mostBeyond } = await fuzzModels(
    { cases: 1000 },
    { random: randomStream(20261120, 'fuzz') },
  )
  expect(refused).toBeGreaterThan(500)
  expect(loaded).toBeGreaterThan(25)
  // The mutations reach the checks, not only the first of them.
  expect(messages.size).toBeGreaterThan(40)
  expect(mostBeyond).toBeLessThan(100e6)
})
