// What training an adapter takes with frozen weights of 32, 16, 8 and 4 bits. For each shape and precision, a child
// process starts as a node does (daemon/platform/lean.ts), opens a sampler and a trainer, writes rollouts, takes a LoRA step while
// it writes the next, and reports its peak resident memory beside the memory plan's estimate, and the processor time of both. Weights are random; memory
// and time do not depend on them.
//
//   node --import tsx scripts/bench/models/base-precision.ts [--only SmolLM2-135M] [--tokens 256] [--rows 4] [--micro 512]
//     [--unpacked] [--json]
//
// --tokens: of each prompt and of each completion. --rows: completions of a prompt. --micro: tokens of a micro-batch.
// --unpacked: without the sampler's packed copy of blocks. On a machine so slow that a step takes more than two minutes, the
// sampler gives its copy back meanwhile (engine/onnx/runtime/resting.ts), and the peak is too low.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ADAPTER_TARGETS, type DecoderSpec, parameterShapes } from '../../../daemon/engine/decoder.ts'
import { createOnnxEngine } from '../../../daemon/engine/onnx/index.ts'
import { emptyBlocks, emptyHalves } from '../../../daemon/engine/stored/quantize.ts'
import { type BaseWeights, bytesOf, isStored } from '../../../daemon/engine/stored/stored.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { LEAN_FLAGS, LEAN_MALLOC } from '../../../daemon/platform/index.ts'
import { openPolicy } from '../../../daemon/policy/live-policy.ts'
import { estimateMemory } from '../../../daemon/policy/memory-plan/index.ts'
import type { StoredModel } from '../../../daemon/policy/model.ts'
import { column, mul, neg } from '../../../protocol/plugin/expression/expression.ts'

const shape = (
  [vocabulary, width, layers, heads, kvHeads, headWidth, feedForward]: number[],
  rest: Partial<DecoderSpec> = {},
): DecoderSpec => ({
  ...{ vocabulary: vocabulary!, width: width!, layers: layers!, heads: heads!, kvHeads: kvHeads! },
  ...{ headWidth: headWidth!, feedForward: feedForward!, normEpsilon: 1e-6, contextLength: 2048 },
  ropeFrequencies: Array.from({ length: headWidth! / 2 }, (_, i) => 10_000 ** ((-2 * i) / headWidth!)),
  ...{ tiedEmbeddings: true, attentionBias: false, queryKeyNorm: false },
  ...rest,
})
const SHAPES: Record<string, DecoderSpec> = {
  'SmolLM2-135M': shape([49_152, 576, 30, 9, 3, 64, 1536]),
  'Gemma-3-270M': shape([262_144, 640, 18, 4, 1, 256, 2048], { queryKeyNorm: true, postNorms: true }),
  'Qwen2.5-0.5B': shape([151_936, 896, 24, 14, 2, 64, 4864], { attentionBias: true }),
  'Qwen2.5-1.5B': shape([151_936, 1536, 28, 12, 2, 128, 8960], { attentionBias: true }),
}
const PRECISIONS = ['f32', 'f16', 'q8', 'q4'] as const
type Precision = (typeof PRECISIONS)[number]

interface Measured {
  name: string
  precision: Precision
  weights: number
  peak: number
  /** The peak until the rollouts were written. */
  writingPeak: number
  estimate: number
  generateSeconds: number
  stepSeconds: number
}

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    precisions: { type: 'string', default: PRECISIONS.join() },
    /** Of each half of a sequence: the prompt, and the completion. */
    tokens: { type: 'string', default: '64' },
    rows: { type: 'string', default: '4' },
    micro: { type: 'string', default: '512' },
    unpacked: { type: 'boolean', default: false },
    child: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const [tokens, rows, microBatchTokens] = [flags.tokens, flags.rows, flags.micro].map(Number) as [
  number,
  number,
  number,
]

if (flags.child) {
  const [name, precision] = flags.child.split(',') as [string, Precision]
  console.log(JSON.stringify(await measured(name, precision)))
  process.exit(0)
}

const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
for (const name of Object.keys(SHAPES)) {
  if (flags.only && !flags.only.split(',').includes(name)) continue
  for (const precision of flags.precisions.split(',')) {
    const own = [
      '--child',
      `${name},${precision}`,
      '--tokens',
      flags.tokens,
      '--rows',
      flags.rows,
      '--micro',
      flags.micro,
    ]
    if (flags.unpacked) own.push('--unpacked')
    const script = [...LEAN_FLAGS, '--import', 'tsx', fileURLToPath(import.meta.url), ...own]
    const done = spawnSync(process.execPath, script, {
      encoding: 'utf8',
      env: { ...LEAN_MALLOC, ...process.env },
    })
    if (done.status !== 0) throw new Error(`${name} ${precision}: ${done.stderr}`)
    const found = JSON.parse(done.stdout) as Measured
    const { weights, peak, writingPeak, estimate, generateSeconds, stepSeconds } = found
    console.log(
      flags.json
        ? JSON.stringify(found)
        : `${name} ${precision}: weights ${mb(weights)}, peak ${mb(peak)} (${mb(writingPeak)} until written), estimated ${mb(estimate)}, processor time of writing ${generateSeconds.toFixed(1)} s, of the step ${stepSeconds.toFixed(1)} s`,
    )
  }
}

function randomBase(spec: DecoderSpec, precision: Precision): BaseWeights {
  const random = randomStream(1, 'base')
  const noise = Float32Array.from({ length: 4096 }, () => (random() - 0.5) * 0.04)
  const bytes = Uint8Array.from({ length: 4096 }, () => Math.floor(random() * 256))
  const repeat = <Array extends Float32Array | Uint8Array>(to: Array, from: Array): Array => {
    for (let at = 0; at < to.length; at += from.length)
      to.set(from.subarray(0, Math.min(from.length, to.length - at)), at)
    return to
  }
  const made = (name: string, [first, second]: readonly number[]) => {
    const size = first! * (second ?? 1)
    if (precision === 'f32' || second === undefined) {
      const floats = new Float32Array(new SharedArrayBuffer(4 * size))
      return name.endsWith('norm.weight') ? floats.fill(1) : repeat<Float32Array>(floats, noise)
    }
    if (precision === 'f16') {
      const halves = emptyHalves(size)
      halves.halves.fill(0x2000)
      return halves
    }
    const blocks = emptyBlocks(size, precision === 'q8' || name.includes('embed') ? 8 : 4)
    repeat<Uint8Array>(blocks.numbers, bytes)
    blocks.scales.fill(blocks.bits === 8 ? 2e-4 : 3e-3)
    return blocks
  }
  return Object.fromEntries([...parameterShapes(spec)].map(([name, of]) => [name, made(name, of)]))
}

async function measured(name: string, precision: Precision): Promise<Measured> {
  const spec = SHAPES[name]!
  const weights = randomBase(spec, precision)
  const random = randomStream(2, 'tokens')
  const packs = !flags.unpacked
  const options = { threads: 1, microBatchTokens, checkpointing: true, packs }
  const [sampler, trainer] = [createOnnxEngine(options), createOnnxEngine(options)]
  const model = {
    spec,
    weights,
    digest: '',
    tokenizer: { digest: '', tokenBytes: () => undefined },
  } as unknown as StoredModel
  const adapter = { rank: 16, alpha: 32, targets: ADAPTER_TARGETS }
  const policy = await openPolicy({ model, adapter, slots: rows }, { sampler, trainer })
  const prompt = Int32Array.from({ length: tokens }, () => Math.floor(random() * spec.vocabulary))
  const started = processorSeconds()
  const write = () =>
    policy.sampler.generate({
      samples: Array.from({ length: rows }, (_, seed) => ({ prompt, seed })),
      maxNewTokens: tokens,
      temperature: 1,
      stopTokens: [],
    })
  const written = await write()
  const wrote = processorSeconds()
  const writingPeak = peakBytes()
  const sequences = written.map((_, i) => ({
    conditioning: prompt,
    completion: Int32Array.from({ length: tokens }, () => Math.floor(random() * spec.vocabulary)),
    columns: { advantage: i % 2 === 0 ? 1 : -1 },
  }))
  const objective = { loss: neg(mul(column('logprob'), column('advantage'))), metrics: {} }
  const optimizer = {
    ...ADAMW,
    learningRate: 1e-5,
    beta2: 0.999,
  }
  const step = { objective, temperature: 1, denominator: 1000, optimizer }
  // A short step first, which makes the optimizer's moments: later steps have them beside their activations.
  await trainer.train({ ...step, sequences: [{ ...sequences[0]!, completion: prompt.slice(0, 4) }] })
  const began = processorSeconds()
  const [{ applied }] = await Promise.all([trainer.train({ ...step, sequences }), write()])
  if (!applied) throw new Error('the step was not finite')
  const stepped = processorSeconds()
  await policy.advance(1)
  const peak = peakBytes()
  await policy.close()
  const sizeOf = (every: readonly BaseWeights[string][]) => every.reduce((sum, one) => sum + bytesOf(one), 0)
  const all = Object.values(weights)
  const blocks = all.filter((values) => isStored(values) && values.kind === 'blocks')
  const { total } = estimateMemory(
    { ...spec, adapter },
    {
      ...{ prompt: tokens, completion: tokens, groupSize: rows, slots: rows, microBatchTokens },
      ...{ checkpointing: true, mixes: false, packs },
      baseBytes: precision === 'f32' ? undefined : { all: sizeOf(all), blocks: sizeOf(blocks) },
    },
  )
  return {
    ...{ name, precision, peak, writingPeak, estimate: total, weights: sizeOf(all) },
    generateSeconds: wrote - started,
    // Less the writing that ran beside it.
    stepSeconds: stepped - began - (wrote - started),
  }
}

function peakBytes(): number {
  return process.resourceUsage().maxRSS * 1024
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
