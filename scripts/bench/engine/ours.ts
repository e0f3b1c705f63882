// Runs one job of scripts/bench/engine on Waggle's engine: JSON in on standard input, seconds and peak memory out.

import { readFileSync } from 'node:fs'
import { parameterShapes } from '../../../daemon/engine/decoder.ts'
import { createCore } from '../../../daemon/engine/onnx/core.ts'
import { Graph } from '../../../daemon/engine/onnx/graph/graph.ts'
import { gemm } from '../../../daemon/engine/onnx/graph/ops.ts'
import { createRuntime } from '../../../daemon/engine/onnx/runtime/runtime.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { expression } from '../../../protocol/plugin/index.ts'
import { type Job, specOf } from './jobs.ts'

const job = JSON.parse(readFileSync(0, 'utf8')) as Job & { threads: number; runs: number }
const random = randomStream(1, 'bench')
const seconds: number[] = []

async function timed(run: () => Promise<unknown>, divide = 1): Promise<void> {
  // The first run compiles and warms up; it is not counted on either side.
  for (let i = 0; i <= job.runs; i++) {
    const start = performance.now()
    await run()
    if (i > 0) seconds.push((performance.now() - start) / 1000 / divide)
  }
}

if (job.kind === 'matmul') {
  const runtime = createRuntime({ threads: job.threads, maxSessions: 1 })
  const graph = new Graph('matmul')
  const shape = [job.size, job.size]
  graph.output('product', gemm(graph.input('a', 'float32', shape), graph.input('b', 'float32', shape)))
  const compiled = await runtime.compile('matmul', () => graph)
  const matrix = (): Float32Array => Float32Array.from({ length: job.size ** 2 }, () => random() - 0.5)
  const [a, b, product] = [matrix(), matrix(), matrix()]
  await timed(async () => {
    for (let i = 0; i < job.repeat; i++) await compiled.run({ a, b }, {}, { product })
  }, job.repeat)
} else {
  const spec = specOf(job)
  const weights: Weights = {}
  for (const [name, shape] of parameterShapes(spec)) {
    const scale = name.endsWith('norm.weight') ? 0 : (shape[1] ?? 1) ** -0.5
    weights[name] = Float32Array.from({ length: shape.reduce((x, y) => x * y, 1) }, () =>
      scale === 0 ? 1 : (random() - 0.5) * scale,
    )
  }
  const core = createCore({ threads: job.threads, now: () => performance.now() })
  await core.open({ spec, weights })
  const tokens = (length: number): Int32Array =>
    Int32Array.from({ length }, () => Math.floor(random() * spec.vocabulary))
  if (job.kind === 'train') {
    const sequences = Array.from({ length: job.rows }, () => ({
      conditioning: tokens(1),
      completion: tokens(job.length),
      columns: {},
    }))
    await timed(() =>
      core.train({
        sequences,
        objective: { loss: expression.neg(expression.column('logprob')), metrics: {} },
        temperature: 1,
        denominator: job.tokens,
        optimizer: {
          ...ADAMW,
          learningRate: 1e-4,
          beta2: 0.999,
          weightDecay: 0.01,
        },
      }),
    )
  } else {
    const samples = Array.from({ length: job.rows }, (_, seed) => ({ prompt: tokens(job.prompt), seed }))
    await timed(() =>
      core.generate({ samples, maxNewTokens: job.length, temperature: 1, stopTokens: [], slots: job.rows }),
    )
  }
}
console.log(JSON.stringify({ seconds, peakBytes: process.resourceUsage().maxRSS * 1024 }))
process.exit(0)
