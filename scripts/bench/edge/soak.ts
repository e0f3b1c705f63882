// A node with the preset `tiny` in a small control group for half an hour: does its memory grow, what does it write, does
// it keep to its share of the CPU? Needs Linux with cgroup v1, root, and `npm run build`.
//
//   node --import tsx scripts/bench/edge/soak.ts [--minutes 25] [--memory 512] [--cores 0.5] [--set key=value]
//
// --memory in MiB. Prints a JSON line every ten seconds and a summary.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createCgroup } from './cgroup.ts'
import { megabytes, startEdgeNode } from './node.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '25' },
    memory: { type: 'string', default: '512' },
    cores: { type: 'string', default: '0.5' },
    set: { type: 'string', multiple: true, default: [] },
    program: { type: 'string' },
  },
})
const EVERY_MS = 10_000
const home = mkdtempSync(join(tmpdir(), 'waggle-soak-'))
const group = createCgroup({
  name: `waggle-soak-${process.pid}`,
  memoryBytes: Number(values.memory) * 2 ** 20,
  cores: Number(values.cores),
})
const node = startEdgeNode({
  home,
  set: ['preset=tiny', ...values.set],
  procs: group.procs,
  ...(values.program ? { program: values.program } : {}),
})
const first = await node.until('up', () => true)
console.log(JSON.stringify({ upAfter: node.seconds(), limits: first.limits, engine: first.engine }))

interface Moment {
  at: number
  step: number
  state: string
  residentBytes: number
  anonymousBytes: number
  writtenBytes: number
  cpuSeconds: number
}
const moments: Moment[] = []
const look = async (): Promise<void> => {
  const { state, training } = await node.client.snapshot()
  const { residentBytes, anonymousBytes } = node.memory()
  moments.push({
    at: node.seconds(),
    step: training?.step ?? 0,
    state,
    residentBytes,
    anonymousBytes,
    writtenBytes: node.writtenBytes(),
    cpuSeconds: group.cpu().seconds,
  })
  console.log(JSON.stringify(moments.at(-1)))
}
while (node.seconds() < 60 * Number(values.minutes)) {
  await look().catch((error) => console.log(JSON.stringify({ at: node.seconds(), missed: String(error) })))
  await sleep(EVERY_MS)
}
const memory = group.memory()
const cpu = group.cpu()
await node.stop()
group.remove()
rmSync(home, { recursive: true })

/** What a fifth of the time had on average, from the first to the last. */
const fifths = (of: (moment: Moment) => number): number[] =>
  Array.from({ length: 5 }, (_, i) => {
    const part = moments.slice((i * moments.length) / 5, ((i + 1) * moments.length) / 5)
    return part.reduce((sum, moment) => sum + of(moment), 0) / part.length
  })
const [start, end] = [moments[0]!, moments.at(-1)!]
const seconds = end.at - start.at
const summary = {
  minutes: seconds / 60,
  steps: end.step,
  anonymousByFifth: fifths(({ anonymousBytes }) => anonymousBytes).map(megabytes),
  residentByFifth: fifths(({ residentBytes }) => residentBytes).map(megabytes),
  groupPeak: megabytes(memory.peakBytes),
  atLimit: memory.atLimit,
  oomKills: memory.oomKills,
  cores: (end.cpuSeconds - start.cpuSeconds) / seconds,
  throttledSeconds: cpu.throttledSeconds,
  writtenPerHour: megabytes(((end.writtenBytes - start.writtenBytes) / seconds) * 3600),
}
console.log(JSON.stringify(summary))
