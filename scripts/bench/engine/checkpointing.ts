// What does activation checkpointing cost, and what does it save?
//
//   node --import tsx scripts/bench/engine/checkpointing.ts
//
// Three training steps of 26 M parameters on 16 x 128 tokens at once, with and without it, each in its own process.
// Prints the loss, the processor time of the last step, and the peak memory of the process.

import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parameterShapes } from '../../../daemon/engine/decoder.ts'
import { createCore } from '../../../daemon/engine/onnx/core.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { expression } from '../../../protocol/plugin/index.ts'
import { JOBS, specOf } from './jobs.ts'

const ROWS = 16
const LENGTH = 128

async function run(checkpointing: boolean): Promise<void> {
  const job = JOBS.find(({ name }) => name.startsWith('train 26M'))!
  if (job.kind !== 'train') throw new Error(job.name)
  const spec = specOf(job)
  const random = randomStream(1, 'checkpointing')
  const weights: Weights = {}
  for (const [name, shape] of parameterShapes(spec)) {
    const size = shape.reduce((a, b) => a * b, 1)
    weights[name] = name.endsWith('norm.weight')
      ? new Float32Array(size).fill(1)
      : Float32Array.from({ length: size }, () => (random() - 0.5) * 0.05)
  }
  const tokens = (length: number): Int32Array =>
    Int32Array.from({ length }, () => Math.floor(random() * spec.vocabulary))
  const sequences = Array.from({ length: ROWS }, () => ({
    conditioning: tokens(1),
    completion: tokens(LENGTH),
    columns: {},
  }))
  const core = createCore({
    threads: availableParallelism(),
    microBatchTokens: ROWS * (LENGTH + 1),
    checkpointing,
    now: () => performance.now(),
  })
  await core.open({ spec, weights })
  let [loss, cpu] = [0, 0]
  for (let step = 0; step < 3; step++) {
    const before = process.cpuUsage()
    const report = await core.train({
      sequences,
      objective: { loss: expression.neg(expression.column('logprob')), metrics: {} },
      temperature: 1,
      denominator: ROWS * LENGTH,
      optimizer: {
        ...ADAMW,
        learningRate: 1e-4,
        beta2: 0.999,
      },
    })
    const { user, system } = process.cpuUsage(before)
    loss = report.loss
    cpu = (user + system) / 1e6
  }
  const peak = process.resourceUsage().maxRSS / 1024 ** 2
  console.log(
    `| ${checkpointing ? 'computed again' : 'kept'} | ${loss.toFixed(6)} | ${cpu.toFixed(2)} s | ${peak.toFixed(2)} GiB |`,
  )
}

const [how] = process.argv.slice(2)
if (how) {
  await run(how === 'again')
  process.exit(0)
}
console.log('| layers | loss after 3 steps | processor time of a step | peak memory |')
console.log('|---|---|---|---|')
for (const way of ['keep', 'again']) {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(import.meta.url), way],
    { encoding: 'utf8' },
  )
  process.stdout.write(stdout || stderr)
}
