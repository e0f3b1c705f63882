// Makes the default model from scratch: `npm run -s model:make [-- --recipe nine|three --out DIR --steps N]`. For
// experiments with several models, --batch, --hidden (a multiple of 64), --layers and --pieces change its size and
// tokenizer. `--from DIR` starts from the first cycle's result in DIR and runs the second.
//
// A Llama of about 1 M parameters, initialised from a fixed seed and supervised only on examples generated from the
// tasks' warm-start questions. Deterministic on one machine for a given number of threads; takes about half an hour
// on two idle cores. Prints held-out accuracy along the way and writes config.json, generation_config.json,
// tokenizer.json, tokenizer_config.json, model.safetensors, README.md.

import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parameterCount, parameterShapes } from '../../daemon/engine/decoder.ts'
import { ADAMW } from '../../daemon/engine/trainer.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { loadDecoder } from '../../daemon/policy/model.ts'
import { encodeSafetensors } from '../../daemon/policy/safetensors/read.ts'
import { codecOf } from '../../daemon/policy/tokens/codec.ts'
import { createTokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { expression, writeTranscript } from '../../protocol/plugin/index.ts'
import { createLocalEngine } from '../lab/nodes/engine.ts'
import { modelCard } from './card.ts'
import { drawExample, type Example } from './corpus.ts'
import { type Accuracy, accuracyOf } from './evaluate.ts'
import { initialWeights, randomFrom } from './initial-weights.ts'
import { RECIPES, type Recipe, type RecipeName } from './recipes.ts'
import { makeTokenizer } from './tokenizer.ts'

const { values: flags } = parseArgs({
  options: {
    recipe: { type: 'string', default: 'nine' },
    out: { type: 'string' },
    steps: { type: 'string' },
    from: { type: 'string' },
    seed: { type: 'string', default: '20261120' },
    batch: { type: 'string' },
    hidden: { type: 'string', default: '128' },
    layers: { type: 'string', default: '5' },
    pieces: { type: 'string' },
    threads: { type: 'string', default: '2' },
  },
})
const recipe: Recipe | undefined = RECIPES[flags.recipe as RecipeName]
if (!recipe) throw new Error(`no recipe ${flags.recipe}; there are ${Object.keys(RECIPES).join(', ')}`)
const cycles = flags.steps ? [{ ...recipe.cycles[0]!, steps: Number(flags.steps) }] : recipe.cycles
const SEED = Number(flags.seed)
const BATCH = Number(flags.batch ?? recipe.batch)
const HIDDEN = Number(flags.hidden)
const WARM_UP = 40
/** Held-out prompts a task at each look, and at the end. */
const LOOK = 50
const FINAL = 300

let random = randomFrom(SEED)
const tasks = TASKS.filter(({ name }) => name in recipe.tasks)
const example = (): Example => drawExample(recipe, tasks, random)

const sample = Array.from({ length: 6000 }, example)
const files = makeTokenizer(
  sample.flatMap(({ instance, text }) => [instance.question, text]),
  { size: Number(flags.pieces ?? recipe.pieces), least: 60, split: recipe.split },
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
const codec = codecOf(tokenizer, vocabulary)
console.log(
  `${parameterCount(spec)} parameters, ${vocabulary} tokens, ${cycles.map(({ steps }) => steps).join(' + ')} steps of ${BATCH} examples`,
)

/** What an environment says is read, not learnt. */
function sequenceOf({ task, instance, text }: Example) {
  const conditioning = tokenizer.encodePrompt(instance.question)
  if (!task.environment) {
    const completion = tokenizer.encodeCompletion(text, 'stop')
    return { conditioning, completion, columns: { mask: new Float32Array(completion.length).fill(1) } }
  }
  const parts = { environment: task.environment, instance }
  const { tokens, lossMask } = writeTranscript(parts, { text, finish: 'stop' }, codec)!
  return { conditioning, completion: tokens, columns: { mask: Float32Array.from(lossMask) } }
}

let engine = createLocalEngine({ threads: Number(flags.threads) })
const first = flags.from === undefined ? 0 : 1
await engine.open({
  spec,
  weights:
    flags.from === undefined
      ? initialWeights(spec, random)
      : (await loadDecoder(flags.from, { disk })).weights,
})
const accuracy = (prompts: number): Promise<Accuracy[]> =>
  accuracyOf({ tasks, parts: recipe.tasks, prompts }, { engine, tokenizer })
const started = performance.now()
for (const [c, { steps, rate }] of cycles.entries()) {
  if (c < first) continue
  if (c > 0) {
    random = randomFrom(SEED + c)
    const weights = await engine.weights()
    await engine.close()
    engine = createLocalEngine({ threads: Number(flags.threads) })
    await engine.open({ spec, weights })
  }
  for (let step = 1; step <= steps; step++) {
    const sequences = Array.from({ length: BATCH }, () => sequenceOf(example()))
    const progress = (step - WARM_UP) / Math.max(1, steps - WARM_UP)
    const learningRate =
      step <= WARM_UP ? (rate * step) / WARM_UP : rate * (0.1 + 0.45 * (1 + Math.cos(Math.PI * progress)))
    const report = await engine.train({
      sequences,
      objective: { loss: expression.neg(expression.column('logprob')), metrics: {} },
      temperature: 1,
      denominator: sequences.reduce(
        (total, { columns }) => total + columns.mask.reduce((sum, one) => sum + one, 0),
        0,
      ),
      optimizer: {
        ...ADAMW,
        learningRate,
        beta2: 0.95,
        weightDecay: 0.01,
      },
    })
    if (step % 50 === 0) {
      const minutes = (performance.now() - started) / 60_000
      console.log(
        `cycle ${c + 1} step ${step}  loss ${report.loss.toFixed(4)}  norm ${report.gradientNorm.toFixed(2)}  ` +
          `${Math.round(report.realTokens / report.seconds)} tokens/s  ${minutes.toFixed(1)} min`,
      )
    }
  }
  if (c < cycles.length - 1) console.log(show(await accuracy(LOOK)))
}
const scores = await accuracy(FINAL)
console.log(show(scores))

function show(results: readonly Accuracy[]): string {
  return results
    .map(
      ({ task, difficulty, greedy, sampled, training }) =>
        `  ${task} level ${difficulty}: greedy ${(100 * greedy).toFixed(1)} %, sampled ${(100 * sampled).toFixed(1)} %, ` +
        `on training questions ${(100 * training).toFixed(1)} %`,
    )
    .join('\n')
}

const out = flags.out ?? recipe.folder
await mkdir(out, { recursive: true })
const write = (name: string, content: string | Uint8Array): Promise<void> =>
  writeFile(join(out, name), content)
const pieces: Uint8Array[] = []
const weights = await engine.weights()
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
  modelCard(recipe, {
    command: `npm run -s model:make -- --recipe ${flags.recipe}${flags.threads === '2' ? '' : ` --threads ${flags.threads}`}`,
    parameters: parameterCount(spec),
    cycles,
    batch: BATCH,
    seed: SEED,
    sha256: createHash('sha256').update(safetensors).digest('hex'),
    scores,
  }),
)
await engine.close()
console.log(`written to ${out}`)
