// How far are llama.cpp and the own engine, as samplers, from the trainer, and how fast are they?
//
//   npm install node-llama-cpp   (beside Waggle; not needed with --own)
//   node --import tsx scripts/bench/real-model/sampler-mismatch.ts --model FILE.gguf [--questions 32] [--tokens 48] [--rounds 2]
//     [--steps 4] [--base f32] [--sampling int8] [--own]
//
// Both write answers to the same questions at temperature 1, in turns; the trainer scores the tokens of both. The trainer
// computes with the file's values in F32, llama.cpp with its own arithmetic for the file's types. The own sampler has the
// same values as the trainer, kept as --base says (engine.base_precision, or `file`), and --sampling is
// engine.sampling_precision. The adapter is the initial one first, then one after optimizer steps that raise the log-probs of
// the answers.

import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ADAPTER_TARGETS } from '../../../daemon/engine/decoder.ts'
import type { Sampler, Scorer } from '../../../daemon/engine/engine.ts'
import { createOnnxEngine, type SamplingPrecision } from '../../../daemon/engine/onnx/index.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { initialAdapter } from '../../../daemon/policy/adapter.ts'
import type { BasePrecision } from '../../../daemon/policy/files/base-weights.ts'
import { loadModelAs } from '../../../daemon/policy/model.ts'
import { createAdapterFiles, createExternalSampler } from '../../../daemon/sampler/index.ts'
import { createLlamaCpp } from '../../../daemon/sampler/node-llama-cpp.ts'
import { mismatchOf } from '../../../daemon/sampler/self-test.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { column, neg } from '../../../protocol/plugin/expression/expression.ts'

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    questions: { type: 'string', default: '32' },
    tokens: { type: 'string', default: '48' },
    rounds: { type: 'string', default: '2' },
    steps: { type: 'string', default: '4' },
    threads: { type: 'string', default: String(availableParallelism()) },
    base: { type: 'string', default: 'f32' },
    sampling: { type: 'string', default: 'int8' },
    own: { type: 'boolean', default: false },
  },
})
if (!flags.model) throw new Error('--model FILE.gguf')
const threads = Number(flags.threads)

const model = await loadModelAs(flags.model, { disk }, () => flags.base as BasePrecision)
const adapter = { rank: 16, alpha: 32, targets: [...ADAPTER_TARGETS] }
const spec = { ...model.spec, adapter }
const initial = initialAdapter(spec, randomStream(1, 'adapter'))
const engine = createOnnxEngine({ threads, samplingPrecision: flags.sampling as SamplingPrecision })
const folder = await mkdtemp(join(tmpdir(), 'waggle-mismatch-'))
const external = flags.own
  ? undefined
  : createExternalSampler(
      { every: 1, tolerance: 10, tokenizer: model.tokenizer, seed: 1 },
      {
        backEnd: createLlamaCpp({ file: flags.model, parallel: 32, threads }),
        files: createAdapterFiles({ folder, format: 'gguf', model, spec }, { disk }),
        trainer: engine,
        onNotice: (message) => console.log(`self-test: ${message}`),
      },
    )
const opening = { spec, weights: { ...model.weights, ...initial } }
await engine.open(opening)
await external?.open(opening)

const random = randomStream(7, 'questions')
const digits = () => Math.floor(random() * 90) + 10
const prompts = Array.from({ length: Number(flags.questions) }, () =>
  model.tokenizer.encodePrompt(`What is ${digits()} + ${digits()}? Think step by step.`),
)
const request = (round: number) => ({
  samples: prompts.map((prompt, i) => ({ prompt, seed: 1000 * round + i })),
  maxNewTokens: Number(flags.tokens),
  temperature: 1,
  stopTokens: model.tokenizer.stopTokens,
})

async function compare(what: string): Promise<void> {
  const found = new Map<string, { own: number[]; trainer: number[]; seconds: number }>()
  for (let round = 0; round < Number(flags.rounds); round++) {
    const samplers: [string, Sampler & Partial<Scorer>][] = [['own engine', engine]]
    if (external) samplers.unshift(['llama.cpp', external])
    for (const [name, sampler] of samplers) {
      const started = performance.now()
      const samples = await sampler.generate(request(round))
      const seconds = (performance.now() - started) / 1000
      const scores = await engine.score({
        sequences: samples.map(({ tokens }, i) => ({ conditioning: prompts[i]!, completion: tokens })),
        temperature: 1,
      })
      const sum = found.get(name) ?? { own: [], trainer: [], seconds: 0 }
      sum.own.push(...samples.flatMap(({ logprobs }) => [...logprobs]))
      sum.trainer.push(...scores.flatMap(({ logprobs }) => [...logprobs]))
      sum.seconds += seconds
      found.set(name, sum)
    }
  }
  for (const [name, { own, trainer, seconds }] of found) {
    const { tokens, meanDifference, largestDifference, kl, effectiveSampleSize } = mismatchOf(own, trainer)
    console.log(
      JSON.stringify({
        ...{ what, sampler: name, device: (name === 'llama.cpp' ? external! : engine).info.device },
        ...{ tokens, meanDifference, largestDifference, kl, effectiveSampleSize },
        tokensPerSecond: tokens / seconds,
        load: loadavg()[0],
      }),
    )
  }
}

await compare('initial adapter')
for (let step = 0; step < Number(flags.steps); step++) {
  const samples = await engine.generate(request(100 + step))
  const sequences = samples.map(({ tokens }, i) => ({
    conditioning: prompts[i]!,
    completion: tokens,
    columns: {},
  }))
  await engine.train({
    sequences,
    objective: { loss: neg(column('logprob')), metrics: {} },
    temperature: 1,
    denominator: sequences.reduce((sum, { completion }) => sum + completion.length, 0),
    optimizer: { ...ADAMW, learningRate: 1e-3, beta2: 0.999 },
  })
}
await external?.setWeights(await engine.weights(), Number(flags.steps))
await compare(`after ${flags.steps} steps`)
await external?.close()
await engine.close()
await rm(folder, { recursive: true })
