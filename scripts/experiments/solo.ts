// Does a node learn by itself? `npm run -s experiment:solo [-- --minutes 10 --seed 1]`
//
// Starts `waggle up` as a new user would (an empty home, all defaults, no peers), lets it train for ten minutes and
// prints its held-out accuracy over time as a table: sampled at temperature 1, which is the policy that is trained,
// and greedy. Exits 1 unless the sampled mean at least doubled.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Evaluation } from '../../protocol/api/index.ts'
import { thisMachine } from './machine.ts'
import { startNode } from './node-process.ts'

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    'prompts-per-task': { type: 'string', default: '200' },
  },
})
const home = await mkdtemp(join(tmpdir(), 'waggle-solo-'))
await writeFile(
  join(home, 'config.toml'),
  `${flags.seed ? `[node]\nseed = ${flags.seed}\n` : ''}[eval]\nprompts_per_task = ${flags['prompts-per-task']}\n[swarm]\nenabled = false\n`,
)
const node = await startNode(home)
const started = Date.now()
while (Date.now() - started < Number(flags.minutes) * 60_000) {
  await sleep(1000)
  if (node.exited()) throw new Error(`the node stopped:\n${node.output()}`)
}
const last = await node.evaluate(Number(flags['prompts-per-task']))
const { evaluations = [], training, machine } = await node.snapshot()
await node.stop()
await rm(home, { recursive: true })

const percent = (share: number | undefined): string =>
  share === undefined ? '' : `${(100 * share).toFixed(1)} %`
const rows = [...evaluations, last]
const tasks = Object.keys(last.tasks)
console.log(thisMachine())
console.log(
  `| minute | step | questions | sampled: mean | ${tasks.join(' | ')} | greedy: mean | ${tasks.join(' | ')} |`,
)
console.log(`|${'---|'.repeat(5 + 2 * tasks.length)}`)
for (const row of rows) {
  const at = (row.time - started) / 60_000
  const of = (all: Record<string, number> | undefined): string =>
    tasks.map((task) => percent(all?.[task])).join(' | ')
  console.log(
    `| ${Math.max(0, at).toFixed(1)} | ${row.step} | ${row.prompts} | ${percent(row.accuracy)} | ${of(row.tasks)} | ${percent(row.greedy?.accuracy)} | ${of(row.greedy?.tasks)} |`,
  )
}
const gain = (read: (row: Evaluation) => number): number => read(last) / read(rows[0]!)
console.log(
  `sampled x ${gain((row) => row.accuracy).toFixed(2)}, greedy x ${gain((row) => row.greedy!.accuracy).toFixed(2)}, ${training?.step} steps, ${((machine?.rssBytes ?? 0) / 1e6).toFixed(0)} MB`,
)
process.exitCode = gain((row) => row.accuracy) >= 2 ? 0 : 1
