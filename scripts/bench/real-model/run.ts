// How fast does a real model load, sample and train here, and in how much memory, beside Transformers and PEFT on PyTorch?
//
//   node --import tsx scripts/bench/real-model/run.ts --model FILE.gguf [--only 'LoRA step' --runs 2 --rounds 1 --threads 2]
//       [--sides ours,half,blocks,eager,compiled] [--device webgpu --python python3]
//   .cache/trl/bin/python scripts/bench/real-model/make.py FOLDER     random weights of Qwen2.5-0.5B's shape,
//   node --import tsx scripts/bench/real-model/run.ts --folder FOLDER     and how fast they are
//
// A GGUF file's values are first written as F32 to a folder that both sides load. The daemon's own loader and engine do
// each job in turns with PyTorch (reference.py, in .cache/trl, which is made at the first call), eager and compiled.
// Each runs in a process of its own, whose peak resident memory is measured. `blocks` is our side on the file's own
// blocks of 4 to 8 bits. With `--device`, our side runs on that device and PyTorch on CUDA, and the times are of the
// clock; `half` is our side in float16. The first run of each is not counted, so compiling is not. Quote the ratios:
// the machines that this runs on are shared, so absolute times drift.

import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Precision } from '../../../daemon/engine/onnx/loss-scale.ts'
import { writeMerged } from '../../../daemon/policy/export/write-model.ts'
import { loadModel } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { pythonWith } from '../../agents/venv.ts'
import { ADAPTER, DEVICE_JOBS, deviceOf, JOBS, type Job, type Measured, type Order } from './jobs.ts'

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    folder: { type: 'string' },
    only: { type: 'string', default: '' },
    runs: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '1' },
    threads: { type: 'string', default: `${availableParallelism()}` },
    sides: { type: 'string', default: 'ours,blocks,eager,compiled' },
    device: { type: 'string', default: 'cpu' },
    python: { type: 'string' },
  },
})
const threads = Number(flags.threads)
const made = flags.model === undefined ? undefined : await asFolder(flags.model)
const folder = made ?? flags.folder
if (folder === undefined) throw new Error('--model FILE.gguf, or --folder FOLDER, which make.py has filled')
const device = deviceOf(flags.device)
/** What a run costs: on a device the processor only waits. */
const cost = device === 'cpu' ? 'cpuSeconds' : 'seconds'
const python =
  flags.python ?? pythonWith('trl', ['torch==2.13.0', 'trl==1.16.0', 'transformers==5.23.0', 'peft==0.21.2'])

/** The model in F32, as Transformers reads it. */
async function asFolder(file: string): Promise<string> {
  const target = await mkdtemp(join(tmpdir(), 'waggle-bench-'))
  const model = await loadModel(file, { disk })
  await writeMerged(model, { target, dtype: 'f32', card: '' }, { disk })
  await writeFile(join(target, 'config.json'), JSON.stringify({ ...model.files.config, dtype: 'float32' }))
  return target
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
/** Bytes of free memory that any side may need. */
const NEEDED = 10e9

function measure(
  command: string,
  args: string[],
  job: Job,
  how: Pick<Order, 'folder' | 'way' | 'precision'>,
): Measured {
  const available = process.availableMemory()
  if (available < NEEDED) throw new Error(`only ${gigabytes(available)} of memory are available`)
  const order: Order = {
    ...job,
    ...how,
    device,
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

const waggle = (job: Job, of: string, precision?: Precision) =>
  measure(process.execPath, [here('./ours.ts')], job, { folder: of, ...(precision && { precision }) })
const SIDES = {
  ours: (job: Job) => waggle(job, folder),
  half: (job: Job) => waggle(job, folder, 'float16'),
  blocks: (job: Job) => waggle(job, flags.model!),
  eager: (job: Job) => measure(python, [here('./reference.py')], job, { folder, way: 'eager' }),
  compiled: (job: Job) => measure(python, [here('./reference.py')], job, { folder, way: 'compiled' }),
}
type SideName = keyof typeof SIDES
const LABELS: Record<SideName, string> = {
  ours: 'Waggle',
  half: 'in float16',
  blocks: "on the file's blocks",
  eager: 'PyTorch eager',
  compiled: 'compiled',
}
const sides = flags.sides
  .split(',')
  .filter((side) => side !== 'blocks' || flags.model !== undefined) as SideName[]
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
  bytes: number
  found: number[]
}

function compare(job: Job): Partial<Record<SideName, Side>> {
  const found = new Map(
    sides
      .filter((side) => job.kind !== 'load' || side !== 'compiled')
      .map((side): [SideName, Measured[]] => [side, []]),
  )
  for (let round = 0; round < Number(flags.rounds); round++)
    for (const [side, all] of found) all.push(SIDES[side](job))
  const sum = (all: Measured[]): Side => ({
    seconds: median(all.flatMap((one) => (job.kind === 'load' ? [one.loadSeconds] : one[cost]))),
    found: all[0]!.found,
    bytes: Math.max(...all.map((one) => (job.kind === 'load' ? one.loadBytes : one.peakBytes))),
  })
  return Object.fromEntries([...found].map(([side, all]) => [side, sum(all)]))
}

console.log(
  `${cpus()[0]?.model}, ${threads} threads, Node ${process.version}; ${cost === 'seconds' ? `${device}, time of the clock` : 'processor time'}`,
)
const labels = sides.map((side) => LABELS[side])
const heads = [
  'job',
  ...labels,
  'faster than eager',
  'than compiled',
  ...labels.map((one) => `memory: ${one}`),
  'apart',
]
console.log(`| ${heads.join(' | ')} |\n|${heads.map(() => '---|').join('')}`)
for (const job of device === 'cpu' ? JOBS : DEVICE_JOBS) {
  if (!job.name.includes(flags.only)) continue
  const of = compare(job)
  const tokens = job.groups * job.rows * job.length
  const shown = (side: Side | undefined): string => {
    if (!side) return ''
    const seconds = `${side.seconds.toPrecision(3)} s`
    return job.kind === 'load' ? seconds : `${seconds}, ${(tokens / side.seconds).toFixed(0)} tokens/s`
  }
  const times = (theirs: Side | undefined): string =>
    (['ours', 'half', 'blocks'] as const)
      .flatMap((side) => (of[side] && theirs ? [(theirs.seconds / of[side].seconds).toFixed(2)] : []))
      .join(', ')
  const cells = [
    ...[job.name, ...sides.map((side) => shown(of[side]))],
    ...[times(of.eager), times(of.compiled)],
    ...sides.map((side) => (of[side] ? gigabytes(of[side].bytes) : '')),
    of.ours && of.eager ? apart(of.ours.found, of.eager.found) : '',
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
if (made) await rm(made, { recursive: true })
