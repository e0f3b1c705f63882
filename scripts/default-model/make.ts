// Makes the default model from nothing: `npm run -s model:make [-- --out DIR --steps N]`. Other sizes and tokenizers, as
// experiments with several models need them, by --batch, --hidden (a multiple of 64), --layers and --pieces.
//
// A Llama of about 1 M parameters, initialised from a fixed seed and supervised on generated examples of the tasks'
// training seeds only. Deterministic on one machine; about 15 minutes on 2 cores. Prints held-out accuracy as it goes
// and writes config.json, generation_config.json, tokenizer.json, tokenizer_config.json, model.safetensors, README.md.

import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parameterCount, parameterShapes, type Weights } from '../../daemon/engine/decoder.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { encodeSafetensors } from '../../daemon/policy/safetensors.ts'
import { createTokenizer } from '../../daemon/policy/tokenizer.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { expression } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { modelCard } from './card.ts'
import { answerIn, drawStyle } from './corpus.ts'
import { evaluate } from './evaluate.ts'
import { makeTokenizer } from './tokenizer.ts'

const { values: flags } = parseArgs({
  options: {
    out: { type: 'string', default: 'models/default' },
    steps: { type: 'string', default: '450' },
    seed: { type: 'string', default: '20261120' },
    batch: { type: 'string', default: '256' },
    hidden: { type: 'string', default: '128' },
    layers: { type: 'string', default: '5' },
    pieces: { type: 'string', default: '384' },
    threads: { type: 'string', default: '2' },
  },
})
const STEPS = Number(flags.steps)
const SEED = Number(flags.seed)
const BATCH = Number(flags.batch)
const HIDDEN = Number(flags.hidden)
const PEAK_RATE = 4e-3
const WARM_UP = 40
/** Held-out prompts a task at each look, and at the end. */
const LOOK = 100
const FINAL = 500

/** Per task: its share of the examples, the difficulties that they are drawn from, and the one that is evaluated. */
const DIFFICULTIES: Record<string, { share: number; drawn: number[]; evaluated: number }> = {
  basic_arithmetic: { share: 0.45, drawn: [0, 1, 1, 1], evaluated: 1 },
  base_conversion: { share: 0.25, drawn: [0, 1, 1, 1], evaluated: 0 },
  fraction_simplification: { share: 0.3, drawn: [0, 1, 1, 1], evaluated: 1 },
}

/** Mulberry32: small, seeded, good enough to draw examples and weights. */
function randomFrom(seed: number): () => number {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) >>> 0
    let t = a
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const random = randomFrom(SEED)
const tasks = TASKS.filter(({ name }) => name in DIFFICULTIES)

function example(): { question: string; completion: string } {
  const u = random()
  let below = 0
  const task =
    tasks.find(({ name }) => {
      below += DIFFICULTIES[name]!.share
      return u < below
    }) ?? tasks[0]!
  const { drawn } = DIFFICULTIES[task.name]!
  const difficulty = drawn[Math.floor(random() * drawn.length)]!
  const instance = task.generate({ seed: Math.floor(random() * HELD_OUT_SEED), difficulty })
  return { question: instance.question, completion: answerIn(drawStyle(random), instance) }
}

const sample = Array.from({ length: 6000 }, example)
const files = makeTokenizer(
  sample.flatMap(({ question, completion }) => [question, completion]),
  { size: Number(flags.pieces), least: 60 },
)
const vocabulary =
  Math.ceil((Object.keys((files.tokenizer.model as { vocab: object }).vocab).length + 1) / 8) * 8
const config = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  vocab_size: vocabulary,
  hidden_size: HIDDEN,
  num_hidden_layers: Number(flags.layers),
  num_attention_heads: HIDDEN / 32,
  num_key_value_heads: Math.max(1, Math.floor(HIDDEN / 64)),
  head_dim: 32,
  intermediate_size: 3 * HIDDEN,
  hidden_act: 'silu',
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  max_position_embeddings: 512,
  tie_word_embeddings: true,
  attention_bias: false,
  mlp_bias: false,
  eos_token_id: files.endToken,
  torch_dtype: 'float32',
}
const generation = { eos_token_id: files.endToken, temperature: 1, do_sample: true }
const spec = specOf(config)
const tokenizer = createTokenizer({ tokenizer: files.tokenizer, config: files.config, generation })
console.log(`${parameterCount(spec)} parameters, ${vocabulary} tokens, ${STEPS} steps of ${BATCH} examples`)

/** Normal with standard deviation 0.02; projections back into the residual stream less, as in GPT-2. */
function initialWeights(): Weights {
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const weights: Weights = {}
  for (const [name, shape] of parameterShapes(spec)) {
    const size = shape.reduce((a, b) => a * b, 1)
    if (name.endsWith('norm.weight')) weights[name] = new Float32Array(size).fill(1)
    else {
      const toResidual = name.endsWith('o_proj.weight') || name.endsWith('down_proj.weight')
      const deviation = name.includes('embed')
        ? 0.02
        : shape[1]! ** -0.5 * (toResidual ? (2 * spec.layers) ** -0.5 : 1)
      weights[name] = Float32Array.from({ length: size }, () => normal() * deviation)
    }
  }
  return weights
}

const core = createCore({ threads: Number(flags.threads), now: () => performance.now() })
await core.open({ spec, weights: initialWeights() })
const started = performance.now()
for (let step = 1; step <= STEPS; step++) {
  const sequences = Array.from({ length: BATCH }, () => {
    const { question, completion } = example()
    return {
      conditioning: tokenizer.encodePrompt(question),
      completion: tokenizer.encodeCompletion(completion, 'stop'),
      columns: {},
    }
  })
  const progress = (step - WARM_UP) / Math.max(1, STEPS - WARM_UP)
  const learningRate =
    step <= WARM_UP
      ? (PEAK_RATE * step) / WARM_UP
      : PEAK_RATE * (0.1 + 0.45 * (1 + Math.cos(Math.PI * progress)))
  const report = await core.train({
    sequences,
    objective: { loss: expression.neg(expression.column('logprob')), metrics: {} },
    temperature: 1,
    denominator: sequences.reduce((total, { completion }) => total + completion.length, 0),
    optimizer: {
      learningRate,
      beta1: 0.9,
      beta2: 0.95,
      epsilon: 1e-8,
      weightDecay: 0.01,
      maxGradientNorm: 1,
    },
  })
  if (step % 20 === 0) {
    const minutes = (performance.now() - started) / 60_000
    console.log(
      `step ${step}  loss ${report.loss.toFixed(4)}  norm ${report.gradientNorm.toFixed(2)}  ` +
        `${Math.round(report.realTokens / report.seconds)} tokens/s  padding ${(100 * (1 - report.realTokens / report.computedTokens)).toFixed(0)} %  ${minutes.toFixed(1)} min`,
    )
  }
  if (step % 100 === 0 && step < STEPS)
    console.log(show(await evaluate({ core, tokenizer, tasks, difficulties: DIFFICULTIES, prompts: LOOK })))
}
const scores = await evaluate({ core, tokenizer, tasks, difficulties: DIFFICULTIES, prompts: FINAL })
console.log(show(scores))

function show(results: Awaited<ReturnType<typeof evaluate>>): string {
  return results
    .map(
      ({ task, difficulty, greedy, sampled }) =>
        `  ${task} level ${difficulty}: greedy ${(100 * greedy).toFixed(1)} %, sampled ${(100 * sampled).toFixed(1)} %`,
    )
    .join('\n')
}

await mkdir(flags.out, { recursive: true })
const write = (name: string, content: string | Uint8Array): Promise<void> =>
  writeFile(join(flags.out, name), content)
const pieces: Uint8Array[] = []
const weights = await core.weights()
const tensors = Object.fromEntries(
  [...parameterShapes(spec)].map(([name, shape]) => [name, { shape, data: weights[name]! }]),
)
for await (const piece of encodeSafetensors({ tensors, metadata: { format: 'pt' }, finite: true }).content)
  pieces.push(piece)
const safetensors = Buffer.concat(pieces)
await write('model.safetensors', safetensors)
await write('config.json', `${JSON.stringify(config, null, 2)}\n`)
await write('generation_config.json', `${JSON.stringify(generation, null, 2)}\n`)
await write('tokenizer.json', `${JSON.stringify(files.tokenizer)}\n`)
await write('tokenizer_config.json', `${JSON.stringify(files.config, null, 2)}\n`)
await write(
  'README.md',
  modelCard({
    parameters: parameterCount(spec),
    steps: STEPS,
    batch: BATCH,
    seed: SEED,
    prompts: FINAL,
    sha256: createHash('sha256').update(safetensors).digest('hex'),
    scores: scores.map((score) => ({
      ...score,
      meaning: tasks.find(({ name }) => name === score.task)!.difficulty.describe(score.difficulty),
    })),
    difficulties: DIFFICULTIES,
  }),
)
await core.close()
console.log(`written to ${flags.out}`)
