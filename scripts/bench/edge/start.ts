// How long a start takes: to the answer of the control socket and to the first step, in seconds and in CPU seconds of all
// its processes. The ways to start take turns, so that they see the same machine. Needs Linux and `npm run build`.
//
//   node --import tsx scripts/bench/edge/start.ts [--runs 5] [--until up] [--set key=value] [--way NAME=COMMAND ...]
//
// NAME=COMMAND is run in the folder of the checkout, with the options of `up`; by default, the built program and npm start.
// The first run of each way fills caches and is told, too. On a busy machine, `nice -n -15` before it, as root, keeps other
// programs out of the way. Prints a JSON line a run.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type EdgeNode, isTraining, PROGRAM, startEdgeNode } from './node.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    until: { type: 'string', default: 'step' },
    set: { type: 'string', multiple: true, default: [] },
    way: {
      type: 'string',
      multiple: true,
      default: [`built=${process.execPath} ${PROGRAM} up`, 'npm=npm start --'],
    },
  },
})

const moment = (node: EdgeNode) => ({
  seconds: Math.round(node.seconds() * 100) / 100,
  cpuSeconds: node.cpuSeconds(),
})

for (let run = 0; run <= Number(values.runs); run++) {
  for (const way of values.way) {
    const [name = '', ...words] = way.split('=')
    const home = mkdtempSync(join(tmpdir(), 'waggle-start-'))
    const command = words.join('=').split(' ')
    const load = readFileSync('/proc/loadavg', 'utf8').split(' ')[0]
    const node = startEdgeNode({ home, command, set: ['limits.priority=normal', ...values.set] })
    await node.until('up', () => true)
    const up = moment(node)
    if (values.until === 'step') await node.until('a first step', isTraining)
    const step = values.until === 'step' ? moment(node) : undefined
    console.log(JSON.stringify({ name, run, load, up, ...(step && { step }) }))
    await node.stop()
    rmSync(home, { recursive: true })
  }
}
