// How fast is the engine? `npm run -s bench:engine [-- --only train --runs 5]`
//
// Waggle's engine and PyTorch (reference.py), eager and compiled, do each job in turns within one run. PyTorch comes
// from the Python package index, into .cache. Quote the ratios of the fastest turns: the machines that this runs on are
// shared, so absolute times drift. `rate` counts 6 N flops per trained token and 2 N per sampled one, as a share of
// this machine's own 1024³ matrix product through ONNX Runtime.

import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { pythonWith } from '../../agents/venv.ts'
import { JOBS, type Job } from './jobs.ts'

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '2' },
    threads: { type: 'string', default: String(availableParallelism()) },
  },
})
const threads = Number(flags.threads)
const TORCH = 'torch==2.13.0'
const python = pythonWith('torch', [TORCH, 'numpy'])
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

interface Measured {
  seconds: number[]
  peakBytes: number
}

function measure(command: string, args: string[], job: Job & { compile?: boolean }): Measured | undefined {
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
const torch = (job: Job, compile: boolean): Measured | undefined =>
  measure(python, [here('./reference.py')], { ...job, compile })
/** On a shared machine the fastest turn is the least disturbed one. */
const best = (values: number[]): number => Math.min(...values)

/** All sides in turn, several times, so that a slow moment of the machine hits all. */
function inTurn(job: Job): { ours: Measured; eager: Measured | undefined; compiled: Measured | undefined } {
  const [ours, eager, compiled]: Measured[][] = [[], [], []]
  for (let round = 0; round < Number(flags.rounds); round++) {
    const mine = waggle(job)
    if (!mine) throw new Error(`${job.name} failed`)
    ours!.push(mine)
    eager!.push(...some(torch(job, false)))
    if (job.kind !== 'matmul') compiled!.push(...some(torch(job, true)))
  }
  return { ours: joined(ours!)!, eager: joined(eager!), compiled: joined(compiled!) }
}

const some = (measured: Measured | undefined): Measured[] => (measured ? [measured] : [])

const joined = (all: Measured[]): Measured | undefined =>
  all.length === 0
    ? undefined
    : {
        seconds: all.flatMap(({ seconds }) => seconds),
        peakBytes: Math.max(...all.map(({ peakBytes }) => peakBytes)),
      }

console.log(
  `${cpus()[0]?.model}, ${threads} threads, Node ${process.version}, ${TORCH}; best of ${Number(flags.runs) * Number(flags.rounds)}`,
)
console.log(
  '| job | Waggle | PyTorch eager | times faster | compiled | times faster | of the matrix-product rate | peak memory / eager |',
)
console.log('|---|---|---|---|---|---|---|---|')
let matmulRate: number | undefined
for (const job of JOBS) {
  if (flags.only && job.kind !== 'matmul' && !job.name.includes(flags.only)) continue
  const { ours, eager, compiled } = inTurn(job)
  const seconds = best(ours.seconds)
  const rate = job.flops / seconds
  if (job.kind === 'matmul') matmulRate = rate
  const per = (value: number): string =>
    job.kind === 'matmul'
      ? `${(job.flops / value / 1e9).toFixed(0)} GFLOP/s`
      : `${Math.round(job.tokens / value)} tokens/s`
  const beside = (theirs: Measured | undefined): string[] =>
    theirs ? [per(best(theirs.seconds)), (best(theirs.seconds) / seconds).toFixed(2)] : ['', '']
  const share = matmulRate ? `${((100 * rate) / matmulRate).toFixed(0)} %` : ''
  const memory = eager ? (ours.peakBytes / eager.peakBytes).toFixed(2) : ''
  console.log(
    `| ${[job.name, per(seconds), ...beside(eager), ...beside(compiled), share, memory].join(' | ')} |`,
  )
}
