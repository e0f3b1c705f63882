// A hundred thousand damaged model folders, or GGUF files: each must load or give one clear error. The tests run the
// first of them.
//
//   node --import tsx scripts/bench/models/fuzz.ts [--gguf] [--cases 100000] [--seed 20261120]

import { parseArgs } from 'node:util'
import { randomStream } from '../../../daemon/host/random.ts'
import { fuzzModels } from '../../../test/policy/fuzz-model.ts'
import { fuzzGguf } from '../../../test/policy/gguf/fuzz.ts'

const { values } = parseArgs({
  options: {
    gguf: { type: 'boolean', default: false },
    cases: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '20261120' },
  },
})
const started = performance.now()
const fuzz = values.gguf ? fuzzGguf : fuzzModels
const { loaded, refused, messages, mostBeyond } = await fuzz(
  { cases: Number(values.cases) },
  { random: randomStream(Number(values.seed), 'fuzz') },
)
const seconds = (performance.now() - started) / 1000
const size = values.gguf ? "8 times the file's size" : "the files' size"
console.log(
  `${values.cases} damaged models in ${seconds.toFixed(0)} s: ${loaded} loaded, ${refused} refused with ${messages.size} kinds of message; at most ${(mostBeyond / 1e6).toFixed(2)} MB allocated beyond ${size}; peak memory of the process ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`,
)
for (const [message, count] of [...messages].sort((a, b) => b[1] - a[1]).slice(0, 20))
  console.log(`${count}  ${message}`)
