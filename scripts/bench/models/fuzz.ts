// Loads a hundred thousand damaged models: each must load or give one clear error. The test runs the first thousand
// of them.
//
//   node --import tsx scripts/bench/models/fuzz.ts [--cases 100000] [--seed 20261120]

import { parseArgs } from 'node:util'
import { randomStream } from '../../../daemon/host/random.ts'
import { fuzzModels } from '../../../test/policy/fuzz-model.ts'

const { values } = parseArgs({
  options: { cases: { type: 'string', default: '100000' }, seed: { type: 'string', default: '20261120' } },
})
const started = performance.now()
const { loaded, refused, messages, mostBeyond } = await fuzzModels(
  { cases: Number(values.cases) },
  { random: randomStream(Number(values.seed), 'fuzz') },
)
const seconds = (performance.now() - started) / 1000
console.log(
  `${values.cases} damaged models in ${seconds.toFixed(0)} s: ${loaded} loaded, ${refused} refused with ${messages.size} kinds of message; at most ${(mostBeyond / 1e6).toFixed(2)} MB allocated beyond the files' size; peak memory of the process ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`,
)
for (const [message, count] of [...messages].sort((a, b) => b[1] - a[1]).slice(0, 20))
  console.log(`${count}  ${message}`)
