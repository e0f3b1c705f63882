// How fast is the engine? `npm run -s bench:engine [-- --only train --runs 5]`
//
// Waggle's engine and PyTorch eager (reference.py; Debian: python3-torch, libopenblas0-pthread), if it is installed,
// do each job in turns within one run. Quote the ratios: the machines that this runs on are shared, so absolute times
// drift. `rate` counts 6 N flops per trained token and 2 N per sampled one, as a share of this machine's own 1024³
// matrix product through ONNX Runtime.

import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { JOBS, type Job } from './jobs.ts'

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '2' },
  },
})
const threads = availableParallelism()
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

interface Measured {
  seconds: number[]
  peakBytes: number
}

function measure(command: string, args: string[], job: Job): Measured | undefined {
  const input = JSON.stringify({ ...job, threads, runs: Number(flags.runs) })
  const { status, stdout, stderr } = spawnSync(command, args, {
    input,
    encoding: 'utf8',
    env: { ...process.env, OMP_NUM_THREADS: String(threads) },
  })
  if (status !== 0) {
    console.error(stderr.split('\n').slice(-4).join('\n'))
    return undefined
  }
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Measured
}

const waggle = (job: Job): Measured | undefined =>
  measure(process.execPath, ['--import', 'tsx', here('./ours.ts')], job)
const torch = (job: Job): Measured | undefined => measure('/usr/bin/python3', [here('./reference.py')], job)
const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

/** Both sides in turn, several times, so that a slow moment of the machine hits both. */
function pair(job: Job): { ours: Measured; theirs: Measured | undefined } {
  const ours: Measured[] = []
  const theirs: Measured[] = []
  for (let round = 0; round < Number(flags.rounds); round++) {
    const a = waggle(job)
    if (!a) throw new Error(`${job.name} failed`)
    ours.push(a)
    const b = torch(job)
    if (b) theirs.push(b)
  }
  const join = (all: Measured[]): Measured => ({
    seconds: all.flatMap(({ seconds }) => seconds),
    peakBytes: Math.max(...all.map(({ peakBytes }) => peakBytes)),
  })
  return { ours: join(ours), theirs: theirs.length > 0 ? join(theirs) : undefined }
}

console.log(
  `${cpus()[0]?.model}, ${threads} cores, Node ${process.version}; medians of ${Number(flags.runs) * Number(flags.rounds)}`,
)
console.log(
  '| job | Waggle | PyTorch eager | times faster | of the matrix-product rate | peak memory / PyTorch |',
)
console.log('|---|---|---|---|---|---|')
let matmulRate: number | undefined
for (const job of JOBS) {
  if (flags.only && job.kind !== 'matmul' && !job.name.includes(flags.only)) continue
  const { ours, theirs } = pair(job)
  const seconds = median(ours.seconds)
  const rate = job.flops / seconds
  if (job.kind === 'matmul') matmulRate = rate
  const per = (value: number): string =>
    job.kind === 'matmul'
      ? `${(job.flops / value / 1e9).toFixed(0)} GFLOP/s`
      : `${Math.round(job.tokens / value)} tokens/s`
  console.log(
    `| ${job.name} | ${per(seconds)} | ${theirs ? per(median(theirs.seconds)) : 'not installed'} | ` +
      `${theirs ? (median(theirs.seconds) / seconds).toFixed(2) : ''} | ${matmulRate ? `${((100 * rate) / matmulRate).toFixed(0)} %` : ''} | ` +
      `${theirs ? (ours.peakBytes / theirs.peakBytes).toFixed(2) : ''} |`,
  )
}
