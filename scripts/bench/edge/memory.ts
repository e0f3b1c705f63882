// What a node takes: CPU time to its first step, memory at work and paused, bytes written while paused. Needs Linux and
// `npm run build`.
//
//   node --import tsx scripts/bench/edge/memory.ts [--steps 20] [--set key=value]
//
// Prints a JSON line for each moment.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isTraining, megabytes, startEdgeNode } from './node.ts'

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '20' },
    set: { type: 'string', multiple: true, default: [] },
    program: { type: 'string' },
  },
})
/** After this long, the engines' threads of a paused node have ended (daemon/limits/rest.ts). */
const RESTING_AFTER_MS = 150_000
/** While a paused node's writes are counted. */
const QUIET_MS = 60_000

const home = mkdtempSync(join(tmpdir(), 'waggle-memory-'))
const node = startEdgeNode({ home, set: values.set, ...(values.program ? { program: values.program } : {}) })
const tell = (moment: string, facts: object = {}): void => {
  const { residentBytes, anonymousBytes, peakBytes } = node.memory()
  console.log(
    JSON.stringify({
      moment,
      seconds: Math.round(node.seconds() * 10) / 10,
      cpuSeconds: node.cpuSeconds(),
      resident: megabytes(residentBytes),
      anonymous: megabytes(anonymousBytes),
      peak: megabytes(peakBytes),
      written: node.writtenBytes(),
      ...facts,
    }),
  )
}
await node.until('up', () => true)
tell('up')
await node.until('a first step', isTraining)
tell('first step')
await node.until('at work', ({ training }) => (training?.step ?? 0) >= Number(values.steps))
tell(`at work, step ${values.steps}`)
await node.client.send('pause', {})
await sleep(5000)
tell('just paused')
await sleep(RESTING_AFTER_MS)
tell('paused, and the engines have ended')
const before = node.writtenBytes()
await sleep(QUIET_MS)
tell('paused for a minute more', { writtenMeanwhile: node.writtenBytes() - before })
await node.client.send('resume', {})
await node.until('a step after the pause', ({ training }) => (training?.step ?? 0) > Number(values.steps) + 1)
tell('at work again')
await node.stop()
rmSync(home, { recursive: true })
