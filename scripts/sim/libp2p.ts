// Whole swarms on the real libp2p, with time, chance and TCP simulated.
//
//   npm run -s sim:libp2p -- --nodes 50 --seed 1     twice, and says whether both runs were the same
//   npm run -s sim:libp2p -- --seed 7 --runs 1 --trace

import { parseArgs } from 'node:util'
import { runStack } from '../../test/sim/libp2p/stack.ts'

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '8' },
    silent: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    meet: { type: 'string', default: '30' },
    chaos: { type: 'string', default: '60' },
    heal: { type: 'string', default: '120' },
    count: { type: 'string', default: '20' },
    runs: { type: 'string', default: '2' },
    every: { type: 'string', default: '5' },
    narrow: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
})
const traces = new Set<string>()
let isBroken = false
for (let run = 0; run < Number(values.runs); run++) {
  const before = process.cpuUsage()
  const { lines, ...report } = await runStack({
    ...{
      seed: Number(values.seed),
      nodes: Number(values.nodes),
      silent: Number(values.silent),
      every: Number(values.every),
    },
    ...{ meetSeconds: Number(values.meet), chaosSeconds: Number(values.chaos) },
    ...{
      healSeconds: Number(values.heal),
      countSeconds: Number(values.count),
      wide: !values.narrow,
      isVerbose: values.trace,
    },
  })
  const { user, system } = process.cpuUsage(before)
  for (const line of lines) console.log(line)
  console.log(JSON.stringify({ ...report, cpuSeconds: Math.round((user + system) / 1e6) }))
  traces.add(report.trace)
  isBroken ||= report.breaches.length > 0
}
if (Number(values.runs) > 1) console.log(traces.size === 1 ? 'the same trace each time' : 'the traces differ')
process.exit(traces.size === 1 && !isBroken ? 0 : 1)
