// Does a model with the exact shape of Qwen2.5-0.5B load, sample and train here, how fast, and in how much memory?
//
//   /usr/bin/python3 scripts/bench/real-model/make.py FOLDER
//   node --import tsx scripts/bench/real-model/run.ts --folder FOLDER [--only 'LoRA step' --runs 2 --rounds 2]
//
// The daemon's own loader and engine and PyTorch eager (reference.py) do each job in turns within one run. Each side
// runs in its own process, whose peak resident memory is measured. Quote the ratios: the machines that this runs on
// are shared, so absolute times drift.

import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ADAPTER, JOBS, type Job, type Measured, type Order } from './jobs.ts'

const { values: flags } = parseArgs({
  options: {
    folder: { type: 'string' },
    only: { type: 'string', default: '' },
    runs: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '2' },
  },
})
if (!flags.folder) throw new Error('--folder FOLDER, which make.py has filled')
const threads = availableParallelism()
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
/** Either side may need so much. */
const NEEDED = 10e9

function measure(command: string, args: string[], job: Job): Measured {
  const available = process.availableMemory()
  if (available < NEEDED) throw new Error(`only ${gigabytes(available)} of memory are available`)
  const order: Order = {
    ...job,
    folder: flags.folder!,
    threads,
    runs: Number(flags.runs),
    tokens: job.groups * job.rows * job.length,
    adapter: ADAPTER,
  }
  const { status, stdout, stderr } = spawnSync(command, args, {
    input: JSON.stringify(order),
    encoding: 'utf8',
    env: { ...process.env, OMP_NUM_THREADS: String(threads), OMP_WAIT_POLICY: 'passive' },
  })
  if (status !== 0) throw new Error(`${job.name}: ${stderr.split('\n').slice(-4).join('\n')}`)
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Measured
}

const SIDES = {
  ours: (job: Job) => measure(process.execPath, ['--import', 'tsx', here('./ours.ts')], job),
  theirs: (job: Job) => measure('/usr/bin/python3', [here('./reference.py')], job),
}
/** The largest difference of what both found, of each number or a share of it where it is above 1. */
function apart(a: readonly number[], b: readonly number[]): string {
  if (a.length === 0) return ''
  return Math.max(
    ...a.map((value, i) => Math.abs(value - b[i]!) / Math.max(1, Math.abs(b[i]!))),
  ).toExponential(1)
}
const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`

interface Side {
  seconds: number
  cpuSeconds: number
  bytes: number
  found: number[]
}

function pair(job: Job): Record<keyof typeof SIDES, Side> {
  const found: Record<keyof typeof SIDES, Measured[]> = { ours: [], theirs: [] }
  for (let round = 0; round < Number(flags.rounds); round++) {
    for (const side of ['ours', 'theirs'] as const) found[side].push(SIDES[side](job))
  }
  const sum = (all: Measured[]): Side => ({
    seconds: median(all.flatMap((one) => (job.kind === 'load' ? [one.loadSeconds] : one.seconds))),
    cpuSeconds: median(all.flatMap((one) => one.cpuSeconds)),
    found: all[0]!.found,
    bytes: Math.max(...all.map((one) => (job.kind === 'load' ? one.loadBytes : one.peakBytes))),
  })
  return { ours: sum(found.ours), theirs: sum(found.theirs) }
}

console.log(`${cpus()[0]?.model}, ${threads} cores, Node ${process.version}`)
console.log(
  '| job | Waggle | PyTorch eager | times faster | by processor time | peak memory | PyTorch | ratio | apart |',
)
console.log('|---|---|---|---|---|---|---|---|---|')
for (const job of JOBS) {
  if (!job.name.includes(flags.only)) continue
  const { ours, theirs } = pair(job)
  const tokens = job.groups * job.rows * job.length
  const shown = ({ seconds }: Side): string =>
    job.kind === 'load'
      ? `${seconds.toFixed(1)} s`
      : `${seconds.toFixed(2)} s, ${(tokens / seconds).toFixed(0)} tokens/s`
  console.log(
    `| ${job.name} | ${shown(ours)} | ${shown(theirs)} | ${(theirs.seconds / ours.seconds).toFixed(2)} | ${job.kind === 'load' ? '' : (theirs.cpuSeconds / ours.cpuSeconds).toFixed(2)} | ` +
      `${gigabytes(ours.bytes)} | ${gigabytes(theirs.bytes)} | ${(ours.bytes / theirs.bytes).toFixed(2)} | ${apart(ours.found, theirs.found)} |`,
  )
}
