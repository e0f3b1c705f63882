// Compares the memory plan with the real engine. For models of several sizes, full and LoRA, a child process starts
// (see daemon/platform/lean.ts), loads, samples and trains as a node does, with foreign groups and copies for a
// checkpoint, and reports its peak resident memory. Micro-batches are full, and the sampler writes while the trainer
// trains: a node has both, and the plan must have room for both.
//
//   node --import tsx scripts/bench/models/memory-plan.ts [--only 60M-lora] [--json]

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  type AdapterSpec,
  type DecoderSpec,
  parameterCount,
  parameterShapes,
} from '../../../daemon/engine/decoder.ts'
import { createOnnxEngine } from '../../../daemon/engine/onnx/index.ts'
import { ADAMW, GRADIENT } from '../../../daemon/engine/trainer.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { LEAN_MALLOC, leanFlags } from '../../../daemon/platform/index.ts'
import { openPolicy } from '../../../daemon/policy/live-policy.ts'
import { estimateMemory, type Work } from '../../../daemon/policy/memory-plan/estimate.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { column, min, mul, neg, ratio } from '../../../protocol/plugin/expression/expression.ts'

const adapter: AdapterSpec = {
  rank: 16,
  alpha: 32,
  targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
}
const decoder = (
  vocabulary: number,
  width: number,
  layers: number,
  heads: number,
  kvHeads: number,
  feedForward: number,
): DecoderSpec => ({
  vocabulary,
  width,
  layers,
  heads,
  kvHeads,
  headWidth: width / heads,
  feedForward,
  normEpsilon: 1e-6,
  ropeFrequencies: Array.from(
    { length: width / heads / 2 },
    (_, i) => 10_000 ** ((-2 * i) / (width / heads)),
  ),
  contextLength: 2048,
  tiedEmbeddings: true,
  attentionBias: false,
  queryKeyNorm: false,
})
const SIZES: Record<string, DecoderSpec> = {
  '3M': decoder(4_000, 192, 6, 6, 2, 512),
  '10M': decoder(8_000, 256, 10, 8, 4, 704),
  '60M': decoder(32_000, 512, 16, 8, 4, 1408),
}
/** Two groups fill a micro-batch of 3M, one those of the others: the prompt without its last token, and the completions. */
const WORK: Record<string, Omit<Work, 'checkpointing'> & { groupSize: number }> = {
  '3M': { prompt: 65, completion: 96, groupSize: 10, slots: 64, microBatchTokens: 2048, mixes: true },
  '10M': { prompt: 65, completion: 96, groupSize: 10, slots: 32, microBatchTokens: 1024, mixes: true },
  '60M': { prompt: 65, completion: 32, groupSize: 6, slots: 8, microBatchTokens: 256, mixes: true },
}
const { values } = parseArgs({
  options: { only: { type: 'string' }, child: { type: 'string' }, json: { type: 'boolean', default: false } },
})

function caseOf(name: string): { spec: DecoderSpec; work: Work & { groupSize: number } } {
  const [size, method] = name.split('-') as [string, string]
  const base = SIZES[size]!
  const work = { ...WORK[size]!, checkpointing: name.endsWith('-again') }
  return { spec: method === 'lora' ? { ...base, adapter } : base, work }
}

if (values.child) {
  await child(values.child)
  process.exit(0)
}

const gb = (bytes: number) => (bytes / 1e9).toFixed(2)
for (const size of Object.keys(SIZES)) {
  for (const method of ['full', 'lora', 'full-again', 'lora-again']) {
    const name = `${size}-${method}`
    if (values.only && values.only !== name) continue
    const script = fileURLToPath(import.meta.url)
    const done = spawnSync(
      process.execPath,
      [...leanFlags(process.versions.node), '--import', 'tsx', script, '--child', name],
      {
        encoding: 'utf8',
        env: { ...LEAN_MALLOC, ...process.env },
      },
    )
    if (done.status !== 0) throw new Error(`${name}: ${done.stderr}`)
    const { peak } = JSON.parse(done.stdout) as { peak: number }
    const { spec, work } = caseOf(name)
    const { total, ...parts } = estimateMemory(spec, work)
    const error = (100 * (total - peak)) / peak
    console.log(
      values.json
        ? JSON.stringify({ name, peak, total, error, parts })
        : `${name} (${(parameterCount(spec) / 1e6).toFixed(0)} M): measured ${gb(peak)} GB, estimated ${gb(total)} GB, ${error > 0 ? '+' : ''}${error.toFixed(0)} %  ${Object.entries(
            parts,
          )
            .map(([part, bytes]) => `${part} ${gb(bytes)}`)
            .join(', ')}`,
    )
  }
}

async function child(name: string): Promise<void> {
  const { spec, work } = caseOf(name)
  const { adapter: wanted, ...plain } = spec
  const random = randomStream(1, 'memory')
  const weights: Weights = {}
  for (const [tensor, shape] of parameterShapes(plain)) {
    const length = shape.reduce((a, b) => a * b, 1)
    const values = new Float32Array(new SharedArrayBuffer(4 * length))
    for (let i = 0; i < length; i++) values[i] = (random() - 0.5) * 0.04
    weights[tensor] = values
  }
  const tokens = (length: number) => Int32Array.from({ length }, () => Math.floor(random() * spec.vocabulary))
  const { microBatchTokens, checkpointing, slots, groupSize, completion } = work
  const options = { threads: 1, microBatchTokens, checkpointing }
  const [sampler, trainer] = [createOnnxEngine(options), createOnnxEngine(options)]
  const model = {
    spec: plain,
    weights,
    digest: '',
    tokenizer: { digest: '', tokenBytes: () => undefined },
  } as unknown as Model
  const policy = await openPolicy({ model, adapter: wanted, slots }, { sampler, trainer })
  const prompts = Array.from(
    { length: Math.ceil(Math.max(slots, (2 * microBatchTokens) / completion) / groupSize) },
    () => tokens(work.prompt),
  )
  const samples = prompts.flatMap((prompt, p) =>
    Array.from({ length: groupSize }, (_, i) => ({ prompt, seed: p * 100 + i })),
  )
  const objective = {
    loss: neg(
      min(
        mul(ratio(column('logprob'), column('proximal')), column('advantage')),
        mul(1.2, column('advantage')),
      ),
    ),
    metrics: {},
  }
  const write = () =>
    policy.sampler.generate({ samples, maxNewTokens: completion, temperature: 1, stopTokens: [] })
  const written = await write()
  const most =
    Math.max(1, Math.ceil((2 * microBatchTokens) / (work.prompt + groupSize * completion))) * groupSize
  const sequences = written.slice(0, most).map(({ tokens: drawn }, i) => ({
    conditioning: samples[i]!.prompt,
    completion: drawn,
    columns: { advantage: i % 2 === 0 ? 1 : -1, proximal: -10 },
  }))
  const request = { sequences, objective, temperature: 1, denominator: 1000 }
  const optimizer = { ...ADAMW, learningRate: 1e-5, beta2: 0.999 }
  let isTrained = false
  const train = async () => {
    // The slots of a step with foreign groups.
    for (const into of [GRADIENT, 'part']) await trainer.gradient({ ...request, into })
    for (const into of ['side', 'own-mean', 'foreign-mean'])
      await trainer.combine({ into, terms: [{ vector: 'part', factor: 1 }] })
    await trainer.step({ along: GRADIENT, optimizer })
    isTrained = true
  }
  const training = train()
  while (!isTrained) await write()
  await training
  await policy.advance(1)
  // As a checkpoint takes them.
  const kept = await Promise.all([trainer.weights(), trainer.optimizer()])
  const peak = process.resourceUsage().maxRSS * 1024
  await policy.close()
  console.log(JSON.stringify({ peak, kept: kept.length }))
}
