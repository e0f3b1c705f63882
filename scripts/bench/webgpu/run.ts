// Compares a device with the CPU: the same training steps on both, then many on the device alone while its memory is
// watched.
//
//   node --import tsx scripts/bench/webgpu/run.ts [--steps 1000] [--equal 20] [--width 16] [--device webgpu] [--precision float32] [--json]
//
// Without a GPU, Vulkan can run in software: `libvk_swiftshader.so` and `vk_swiftshader_icd.json` are in Debian's
// `chromium-common`; set VK_ICD_FILENAMES to the latter. Its device memory is the process's own, so a leak shows in the
// resident set. Its speed says nothing about a GPU's.

import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { type DecoderSpec, parameterCount, parameterShapes } from '../../../daemon/engine/decoder.ts'
import type { TrainRequest } from '../../../daemon/engine/engine.ts'
import { createCore } from '../../../daemon/engine/onnx/core.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { column, neg } from '../../../protocol/plugin/expression/expression.ts'
import { deviceOf } from '../real-model/jobs.ts'

const { values: flags } = parseArgs({
  options: {
    steps: { type: 'string', default: '1000' },
    equal: { type: 'string', default: '20' },
    width: { type: 'string', default: '16' },
    device: { type: 'string', default: 'webgpu' },
    precision: { type: 'string', default: 'float32' },
    json: { type: 'boolean', default: false },
  },
})
const width = Number(flags.width)
const headWidth = Math.min(64, width / 2)
const spec: DecoderSpec = {
  vocabulary: 64,
  width,
  layers: 2,
  heads: width / headWidth,
  kvHeads: 1,
  headWidth,
  feedForward: 2 * width,
  normEpsilon: 1e-5,
  ropeFrequencies: Array.from({ length: headWidth / 2 }, (_, i) => 10_000 ** ((-2 * i) / headWidth)),
  contextLength: 64,
  tiedEmbeddings: true,
  attentionBias: false,
  queryKeyNorm: false,
}
const random = randomStream(1, 'webgpu')
const weights: Weights = {}
for (const [name, shape] of parameterShapes(spec)) {
  const scale = 2 * (shape[1] ?? 1) ** -0.5
  weights[name] = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () =>
    shape.length === 1 ? 1 : (random() - 0.5) * scale,
  )
}
const tokens = (length: number): Int32Array =>
  Int32Array.from({ length }, () => Math.floor(random() * spec.vocabulary))
/** A few batches of other sizes each, in turn: what is kept for each size must be bounded, too. */
const batches: TrainRequest[] = [12, 20, 7, 16].map((length) => ({
  sequences: Array.from({ length: 8 }, (_, row) => ({
    conditioning: tokens(4 + (row >> 2)),
    completion: tokens(length + (row % 3)),
    columns: {},
  })),
  objective: { loss: neg(column('logprob')), metrics: {} },
  temperature: 1,
  denominator: 8 * length,
  optimizer: {
    learningRate: 1e-3,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-8,
    weightDecay: 0.01,
    maxGradientNorm: 1,
  },
}))
const now = (): number => performance.now()
const say = (line: string): void => {
  if (!flags.json) console.log(line)
}
const megabytes = (): number => process.memoryUsage().rss / 1e6

const cpu = createCore({ threads: availableParallelism(), now })
const provider = deviceOf(flags.device)
const precision = flags.precision === 'float16' ? 'float16' : 'float32'
const gpu = createCore({ provider, precision, threads: availableParallelism(), now })
for (const core of [cpu, gpu]) await core.open({ spec, weights })
say(`${parameterCount(spec)} parameters`)

let worst = 0
const rates = { cpu: 0, device: 0 }
for (let step = 0; step < Number(flags.equal); step++) {
  const batch = batches[step % batches.length]!
  const [expected, found] = [await cpu.train(batch), await gpu.train(batch)]
  worst = Math.max(worst, Math.abs(found.loss - expected.loss) / Math.abs(expected.loss))
  // The first round of batches compiles.
  if (step < batches.length) continue
  rates.cpu = Math.max(rates.cpu, expected.realTokens / expected.seconds)
  rates.device = Math.max(rates.device, found.realTokens / found.seconds)
}
say(`${flags.equal} steps: losses differ by ${worst.toExponential(1)} at most, relative`)
say(`tokens/s: CPU ${rates.cpu.toFixed(0)}, ${provider} ${rates.device.toFixed(0)}`)

const points: { step: number; rss: number; tensors: number; bytes: number }[] = []
const total = Number(flags.steps)
for (let step = 1; step <= total; step++) {
  await gpu.train(batches[step % batches.length]!)
  if (step % 10 === 0) {
    const samples = [1, 2, 3, 4].map((seed) => ({ prompt: tokens(5), seed }))
    await gpu.generate({ samples, maxNewTokens: 6, temperature: 1, stopTokens: [] })
  }
  if (step % Math.ceil(total / 10) === 0 || step === 20) {
    const { count, bytes } = gpu.held()
    points.push({ step, rss: megabytes(), tensors: count, bytes })
    say(`step ${step}: ${megabytes().toFixed(1)} MB resident, ${count} tensors held, ${bytes} bytes`)
  }
}
await gpu.close()
await cpu.close()
say(`after closing: ${gpu.held().count} tensors held`)
if (flags.json) console.log(JSON.stringify({ worst, rates, points, left: gpu.held().count }))
process.exit(0)
