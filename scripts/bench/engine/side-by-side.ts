// How much does a node lose by sampling and training at the same time? `npm run -s bench:side-by-side [-- --seconds
// 10]`
//
// Two engines in their own threads, as in the daemon: one samples groups, the other trains, without a pause. Each is
// first timed alone. Prints: busy, the processor time of the process over wall time, as a share of all cores; shares,
// each engine's rate beside the other over its rate alone; lag, the delay of timers on the main thread, which serves
// the network and the control API.

import { availableParallelism, cpus } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { parameterCount, parameterShapes } from '../../../daemon/engine/decoder.ts'
import { createOnnxEngine } from '../../../daemon/engine/onnx/index.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { expression } from '../../../protocol/plugin/index.ts'
import { JOBS, specOf } from './jobs.ts'

const { values: flags } = parseArgs({ options: { seconds: { type: 'string', default: '10' } } })
const span = Number(flags.seconds) * 1000
const cores = availableParallelism()
/** As the daemon shares them out. */
const threads = Math.max(1, Math.floor(cores / 2))
const random = randomStream(1, 'side by side')

async function measure(label: string): Promise<void> {
  const job = JOBS.find(({ name }) => name.startsWith(`sample ${label} `))!
  if (job.kind !== 'sample') throw new Error(label)
  const spec = specOf(job)
  const tokens = (length: number): Int32Array =>
    Int32Array.from({ length }, () => Math.floor(random() * spec.vocabulary))
  const weights: Weights = {}
  for (const [name, shape] of parameterShapes(spec)) {
    const size = shape.reduce((a, b) => a * b, 1)
    weights[name] = name.endsWith('norm.weight')
      ? new Float32Array(size).fill(1)
      : Float32Array.from({ length: size }, () => (random() - 0.5) * (shape[1] ?? 1) ** -0.5)
  }
  const [sampler, trainer] = [createOnnxEngine({ threads }), createOnnxEngine({ threads })]
  await Promise.all([sampler.open({ spec, weights }), trainer.open({ spec, weights })])

  const write = async (): Promise<number> => {
    const prompts = Array.from({ length: 8 }, () => tokens(32))
    const samples = prompts.flatMap((prompt) => Array.from({ length: 8 }, (_, seed) => ({ prompt, seed })))
    const out = await sampler.generate({ samples, maxNewTokens: 64, temperature: 1, stopTokens: [] })
    return out.reduce((sum, sample) => sum + sample.tokens.length, 0)
  }
  const learn = async (): Promise<number> => {
    const sequences = Array.from({ length: 8 }, () => tokens(32)).flatMap((conditioning) =>
      Array.from({ length: 8 }, () => ({ conditioning, completion: tokens(64), columns: {} })),
    )
    const { completionTokens } = await trainer.train({
      sequences,
      objective: { loss: expression.neg(expression.column('logprob')), metrics: {} },
      temperature: 1,
      denominator: 64 * 64,
      optimizer: {
        ...ADAMW,
        learningRate: 1e-4,
      },
    })
    return completionTokens
  }
  /** Tokens a second of each, done again and again side by side for the span. */
  const run = async (...jobs: (() => Promise<number>)[]): Promise<number[]> => {
    const start = performance.now()
    return Promise.all(
      jobs.map(async (job) => {
        let done = 0
        while (performance.now() - start < span) done += await job()
        return (1000 * done) / (performance.now() - start)
      }),
    )
  }

  await run(write, learn)
  const [written] = await run(write)
  const [learnt] = await run(learn)
  const lag = monitorEventLoopDelay({ resolution: 5 })
  lag.enable()
  const [cpu, start] = [process.cpuUsage(), performance.now()]
  const [beside, besides] = await run(write, learn)
  const { user, system } = process.cpuUsage(cpu)
  const busy = (user + system) / 1000 / (performance.now() - start) / cores
  lag.disable()
  await Promise.all([sampler.close(), trainer.close()])

  const percent = (share: number): string => `${(100 * share).toFixed(0)} %`
  // The monitor's figures include the interval between its timers.
  const late = (at: number): string => `${Math.max(0, lag.percentile(at) / 1e6 - 5).toFixed(1)} ms`
  console.log(
    `| ${label} (${(parameterCount(spec) / 1e6).toFixed(2)} M) | ${percent(beside! / written!)} | ${percent(besides! / learnt!)} | ` +
      `${percent(beside! / written! + besides! / learnt!)} | ${percent(busy)} | ${late(50)} | ${late(99)} |`,
  )
}

console.log(`${cpus()[0]?.model}, ${cores} cores, Node ${process.version}; ${flags.seconds} s each`)
console.log('| model | sampling | training | together | busy | lag p50 | lag p99 |')
console.log('|---|---|---|---|---|---|---|')
for (const label of ['1M', '3.5M', '25M']) await measure(label)
