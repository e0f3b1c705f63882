// Runs one job of scripts/bench/real-model with the daemon's own loader and engine: JSON in on standard input,
// seconds and peak memory out. The first run of a job compiles and is not counted.

import { readFileSync } from 'node:fs'
import { adapterShapes, type DecoderSpec } from '../../../daemon/engine/decoder.ts'
import { createCore } from '../../../daemon/engine/onnx/core.ts'
import type { BaseWeights } from '../../../daemon/engine/stored/stored.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import { loadDecoderAs } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { column, min, mul, neg, ratio } from '../../../protocol/plugin/expression/expression.ts'
import { type Measured, type Order, scattered } from './jobs.ts'

const order = JSON.parse(readFileSync(0, 'utf8')) as Order
const peakBytes = (): number => process.resourceUsage().maxRSS * 1024

const started = performance.now()
const held = order.folder.endsWith('.gguf') ? 'file' : 'f32'
const { spec: base, weights: frozen } = await loadDecoderAs(order.folder, { disk }, held)
const loadSeconds = (performance.now() - started) / 1000
const loadBytes = peakBytes()

const spec: DecoderSpec = { ...base, adapter: order.adapter }
const weights: Record<string, BaseWeights[string]> = { ...frozen }
for (const [name, shape] of adapterShapes(spec)) {
  const size = shape.reduce((a, b) => a * b, 1)
  // As PEFT starts: B is zero, A is not.
  const value = (i: number): number => (name.includes('lora_B') ? 0 : (scattered(i) - 0.5) / 4)
  weights[name] = Float32Array.from({ length: size }, (_, i) => value(i))
}
const { threads, device: provider = 'cpu', precision = 'float32' } = order
const core = createCore({ threads, provider, precision, now: () => performance.now() })
await core.open({ spec, weights })

const tokens = (from: number, length: number): Int32Array =>
  Int32Array.from({ length }, (_, i) => Math.floor(scattered(from + i) * spec.vocabulary))
const sequences = Array.from({ length: order.groups * order.rows }, (_, i) => ({
  conditioning: tokens(Math.floor(i / order.rows) * order.prompt, order.prompt),
  completion: tokens(1e6 + i * order.length, order.length),
}))

const runs: Record<Order['kind'], () => Promise<number[]>> = {
  load: async () => [],
  sample: async () => {
    const samples = sequences.map(({ conditioning }, seed) => ({ prompt: conditioning, seed }))
    const request = { samples, maxNewTokens: order.length, temperature: 1, stopTokens: [] }
    await core.generate({ ...request, slots: samples.length })
    return []
  },
  score: async () => {
    const scores = await core.score({ sequences, temperature: 1 })
    return scores.flatMap(({ logprobs }) => [...logprobs])
  },
  train: async () => {
    const advantage = column('advantage')
    const clipped = min(mul(ratio(column('logprob'), column('proximal')), advantage), mul(1.2, advantage))
    const report = await core.train({
      sequences: sequences.map((sequence, i) => ({
        ...sequence,
        columns: { advantage: i % 2 === 0 ? 1 : -1, proximal: -12 },
      })),
      objective: { loss: neg(clipped), metrics: {} },
      temperature: 1,
      denominator: order.tokens,
      optimizer: {
        ...ADAMW,
        learningRate: 1e-4,
        beta2: 0.999,
      },
    })
    if (!report.applied) throw new Error(`not finite: ${report.nonFinite}`)
    return [report.loss, report.gradientNorm]
  },
}

const seconds: number[] = []
const cpuSeconds: number[] = []
let found: number[] = []
for (let i = 0; i <= order.runs; i++) {
  const start = performance.now()
  const before = process.cpuUsage()
  const result = await runs[order.kind]()
  if (i === 0) found = result
  if (i === 0) continue
  seconds.push((performance.now() - start) / 1000)
  const { user, system } = process.cpuUsage(before)
  cpuSeconds.push((user + system) / 1e6)
}
const measured: Measured = { seconds, cpuSeconds, loadSeconds, loadBytes, peakBytes: peakBytes(), found }
console.log(JSON.stringify(measured))
process.exit(0)
