import { expect, test } from 'vitest'
import { randomStream } from '../../../daemon/host/random.ts'
import { fuzzGguf } from './fuzz.ts'

// scripts/bench/models/fuzz.ts --gguf runs 100,000.
// About 2 s of computing, which a machine that does other things as well may take minutes for.
test('six hundred damaged GGUF files load or give one clear error each, within the size of the file', async () => {
  const { loaded, refused, messages } = await fuzzGguf(
    { cases: 600 },
    { random: randomStream(20261122, 'fuzz') },
  )
  expect(refused).toBeGreaterThan(300)
  expect(loaded).toBeGreaterThan(10)
  // The mutations reach the checks, not only the first of them.
  expect(messages.size).toBeGreaterThan(30)
}, 300_000)
