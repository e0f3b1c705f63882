// What training an adapter takes with frozen weights of 32, 16, 8 and 4 bits, and with answers of any length. For each
// shape and precision, a child process starts as a node does (daemon/platform/lean.ts), opens a sampler and a trainer,
// writes rollouts, takes a LoRA step while it writes others, again and again until the step is done, and reports its peak
// resident memory beside the memory plan's estimate, and the processor time of both. Weights are random; memory and time
// do not depend on them.
//
//   node scripts/bench/models/base-precision.ts [--only SmolLM2-135M] [--precisions q4] [--prompt 64]
//     [--completion 512] [--rows 8] [--trained 1] [--written 64] [--micro 512] [--memory 2.5] [--threads 2] [--keep] [--unpacked] [--json]
//
// --rows: completions of a prompt. --trained: how many of them the step trains on, all by default: with one micro-batch
// each, two have the same peak as eight. --micro: tokens of a micro-batch. --memory: the plan chooses the settings for so
// many GB instead. --keep: activations are kept, not computed twice. --unpacked: without the sampler's packed copy of
// blocks. Of a completion, the last 64 tokens are
// written, or --written, after a prompt that stands for the others: the cache is as full, and it takes no hours.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  ADAPTER_TARGETS,
  type AdapterSpec,
  type DecoderSpec,
  parameterShapes,
} from '../../../daemon/engine/decoder.ts'
import { createOnnxEngine } from '../../../daemon/engine/onnx/index.ts'
import { emptyBlocks, emptyHalves } from '../../../daemon/engine/stored/quantize.ts'
import { type BaseWeights, bytesOf, isStored } from '../../../daemon/engine/stored/stored.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { LEAN_MALLOC, leanFlags } from '../../../daemon/platform/index.ts'
import type { BaseBytes } from '../../../daemon/policy/files/base-weights.ts'
import { openPolicy } from '../../../daemon/policy/live-policy.ts'
import { estimateMemory, type MemoryPlan, planMemory } from '../../../daemon/policy/memory-plan/index.ts'
import type { StoredModel } from '../../../daemon/policy/model.ts'
import { column, mul, neg } from '../../../protocol/plugin/expression/expression.ts'

const shape = (
  [vocabulary, width, layers, heads, kvHeads, headWidth, feedForward]: number[],
  rest: Partial<DecoderSpec> = {},
): DecoderSpec => ({
  ...{ vocabulary: vocabulary!, width: width!, layers: layers!, heads: heads!, kvHeads: kvHeads! },
  ...{ headWidth: headWidth!, feedForward: feedForward!, normEpsilon: 1e-6, contextLength: 32_768 },
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
  /** The settings. */
  how: string
  generateSeconds: number
  stepSeconds: number
}

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    precisions: { type: 'string', default: PRECISIONS.join() },
    prompt: { type: 'string', default: '64' },
    completion: { type: 'string', default: '64' },
    rows: { type: 'string', default: '4' },
    trained: { type: 'string' },
    written: { type: 'string', default: '64' },
    micro: { type: 'string', default: '512' },
    memory: { type: 'string' },
    threads: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
    unpacked: { type: 'boolean', default: false },
    child: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const rows = Number(flags.rows)
const work = {
  ...{ prompt: Number(flags.prompt), completion: Number(flags.completion) },
  mixes: false,
}
/** Most tokens that are written of each completion. */
const WRITTEN = Number(flags.written)

if (flags.child) {
  const [name, precision] = flags.child.split(',') as [string, Precision]
  console.log(JSON.stringify(await measured(name, precision)))
  process.exit(0)
}

const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
for (const name of Object.keys(SHAPES)) {
  if (flags.only && !flags.only.split(',').includes(name)) continue
  for (const precision of flags.precisions.split(',')) {
    const own = [...process.argv.slice(2), '--child', `${name},${precision}`]
    const script = [...leanFlags(process.versions.node), fileURLToPath(import.meta.url), ...own]
    const done = spawnSync(process.execPath, script, {
      encoding: 'utf8',
      env: { ...LEAN_MALLOC, ...process.env },
    })
    if (done.status !== 0) throw new Error(`${name} ${precision}: ${done.stderr}`)
    const found = JSON.parse(done.stdout) as Measured
    const { weights, peak, writingPeak, estimate, how, generateSeconds, stepSeconds } = found
    console.log(
      flags.json
        ? JSON.stringify(found)
        : `${name} ${precision}: weights ${mb(weights)}, peak ${mb(peak)} (${mb(writingPeak)} until written), estimated ${mb(estimate)} (${how}), processor time of writing ${generateSeconds.toFixed(1)} s, of the step ${stepSeconds.toFixed(1)} s`,
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

type Settings = Pick<MemoryPlan, 'microBatchTokens' | 'checkpointing' | 'packs' | 'slots'>

/** The settings asked for, or the plan's. */
function settingsFor(spec: DecoderSpec, adapter: AdapterSpec, bytes: BaseBytes | undefined): Settings {
  if (flags.memory === undefined)
    return {
      ...{ microBatchTokens: Number(flags.micro), checkpointing: !flags.keep },
      ...{ packs: !flags.unpacked, slots: rows },
    }
  return planMemory('', spec, {
    ...{ method: 'lora', adapter, microBatchTokens: 0, budget: Number(flags.memory) * 1e9, work },
    ...(bytes && { base: { asked: 'q4', bytes: () => bytes } }),
  })
}

async function measured(name: string, precision: Precision): Promise<Measured> {
  const spec = SHAPES[name]!
  const weights = randomBase(spec, precision)
  const adapter = { rank: 16, alpha: 32, targets: ADAPTER_TARGETS }
  const sizeOf = (every: readonly BaseWeights[string][]) => every.reduce((sum, one) => sum + bytesOf(one), 0)
  const all = Object.values(weights)
  const blocks = all.filter((values) => isStored(values) && values.kind === 'blocks')
  const baseBytes = precision === 'f32' ? undefined : { all: sizeOf(all), blocks: sizeOf(blocks) }
  const { microBatchTokens, checkpointing, packs, slots } = settingsFor(spec, adapter, baseBytes)
  const random = randomStream(2, 'tokens')
  const options = { threads: Number(flags.threads), microBatchTokens, checkpointing, packs }
  const [sampler, trainer] = [createOnnxEngine(options), createOnnxEngine(options)]
  const model = {
    spec,
    weights,
    digest: '',
    tokenizer: { digest: '', tokenBytes: () => undefined },
  } as unknown as StoredModel
  const policy = await openPolicy({ model, adapter, slots }, { sampler, trainer })
  const someTokens = (length: number) =>
    Int32Array.from({ length }, () => Math.floor(random() * spec.vocabulary))
  const { completion } = work
  const prompt = someTokens(work.prompt)
  const fresh = Math.min(completion, WRITTEN)
  const begun = someTokens(work.prompt + completion - fresh)
  // What is read as a prompt is shared, and answers are not: the keys and values of the other rows.
  const perToken = 2 * spec.layers * spec.kvHeads * spec.headWidth
  const others = new Float32Array((rows - 1) * (completion - fresh) * perToken).fill(1)
  const started = processorSeconds()
  const write = () =>
    policy.sampler.generate({
      samples: Array.from({ length: rows }, (_, seed) => ({ prompt: begun, seed })),
      maxNewTokens: fresh,
      temperature: 1,
      stopTokens: [],
    })
  await write()
  const wrote = processorSeconds()
  const writingPeak = peakBytes()
  // Of different lengths, as answers are.
  const sequences = Array.from({ length: Number(flags.trained ?? rows) }, (_, i) => ({
    ...{ conditioning: prompt, completion: someTokens(completion - i) },
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
  let isTrained = false
  const training = trainer.train({ ...step, sequences }).finally(() => {
    isTrained = true
  })
  // As in a node, the sampler holds its memory until the step's end.
  let writes = 0
  for (; !isTrained; writes++) await write()
  const { applied } = await training
  if (!applied) throw new Error('the step was not finite')
  const stepped = processorSeconds()
  await policy.advance(1)
  const peak = peakBytes()
  await policy.close()
  if (others.some((value) => value !== 1)) throw new Error('the cache is gone')
  const settings = { microBatchTokens, checkpointing, packs, slots }
  const { total } = estimateMemory({ ...spec, adapter }, { ...work, ...settings, baseBytes })
  const how = `micro-batches of ${microBatchTokens}${checkpointing ? ', computed twice' : ''}, ${slots} slots${packs ? '' : ', unpacked'}`
  return {
    ...{ name, precision, peak, writingPeak, estimate: total, how, weights: sizeOf(all) },
    generateSeconds: wrote - started,
    // Less the writing that ran beside it.
    stepSeconds: stepped - began - writes * (wrote - started),
  }
}

function peakBytes(): number {
  return process.resourceUsage().maxRSS * 1024
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
