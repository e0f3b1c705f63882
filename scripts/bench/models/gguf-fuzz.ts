// A hundred thousand damaged GGUF files: each loads, or gives one clear error. The test runs the first 600 of them.
//
//   node --import tsx scripts/bench/models/gguf-fuzz.ts [--cases 100000] [--seed 20261122]

import { parseArgs } from 'node:util'
import { randomStream } from '../../../daemon/host/random.ts'
import { fuzzGguf } from '../../../test/policy/gguf/fuzz.ts'

const { values } = parseArgs({
  options: { cases: { type: 'string', default: '100000' }, seed: { type: 'string', default: '20261122' } },
})
const started = performance.now()
const { loaded, refused, messages, mostBeyond } = await fuzzGguf(
  { cases: Number(values.cases) },
  { random: randomStream(Number(values.seed), 'fuzz') },
)
const seconds = (performance.now() - started) / 1000
console.log(
  `${values.cases} damaged files in ${seconds.toFixed(0)} s: ${loaded} loaded, ${refused} refused with ${messages.size} kinds of message; at most ${(mostBeyond / 1e6).toFixed(2)} MB allocated beyond 8 times the file's size; peak memory of the process ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`,
)
for (const [message, count] of [...messages].sort((a, b) => b[1] - a[1]).slice(0, 20))
  console.log(`${count}  ${message}`)
