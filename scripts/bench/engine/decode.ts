// Tokens a second of reading a prompt, and of decoding alone, prompts already read: Waggle's engine beside llama.cpp, in
// turns. Seconds are the process's processor time, with one thread by default, so that other programs on the machine
// disturb little.
//
//   npm install --prefix FOLDER node-llama-cpp
//   node --import tsx scripts/bench/engine/decode.ts --model FILE [--llama FOLDER [--f32 COPY.gguf]] [--batches 1,8,32]
//     [--prompt 64] [--new 24] [--read 256] [--rounds 2] [--threads 1] [--bases f32,file,q8,q4] [--rank 0]
//     [--group 8] [--beside CHECKOUT]
//
// --group: sequences of each prompt in Waggle; all by default.
// --read: tokens of a prompt whose reading is measured; 0 leaves that out. --bases: how frozen weights are kept, one
// contender each. `file` takes the file as it is; `q8` and `q4` round the F32 copy, if there is one. --rank: of an adapter on
// all matrices, which llama.cpp then has as well, in a turn of its own. 0 is an adapter of rank 1 on one kind of matrix,
// because a frozen base needs one, and none in llama.cpp. --beside measures another checkout of this project as well, in the
// same process. After the last turn, the log-probs of what was written are compared with the same engine's scores.
//
// Waggle draws at temperature 1 and reports log-probs. llama.cpp takes the likeliest token, which is the least that it can
// do. --f32 writes the model's F32 values to another file, which llama.cpp decodes as well. `--model shape:0.5b` measures
// random weights of Qwen2.5-0.5B's shape, for which llama.cpp has no file.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import {
  ADAPTER_TARGETS,
  adapterShapes,
  type DecoderSpec,
  parameterShapes,
} from '../../../daemon/engine/decoder.ts'
import type { Sample } from '../../../daemon/engine/engine.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { plainFrequencies } from '../../../daemon/policy/architectures/rope.ts'
import type { BasePrecision } from '../../../daemon/policy/files/base-weights.ts'
import { writeGgufAdapter } from '../../../daemon/policy/gguf/export.ts'
import { loadDecoder, loadDecoderAs, loadModel } from '../../../daemon/policy/model.ts'
import { type Mismatch, mismatchOf, mismatchText } from '../../../daemon/sampler/self-test.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { writeF32 } from '../real-model/f32-copy.ts'

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    llama: { type: 'string' },
    f32: { type: 'string' },
    batches: { type: 'string', default: '1,8,32' },
    prompt: { type: 'string', default: '64' },
    new: { type: 'string', default: '24' },
    read: { type: 'string', default: '256' },
    rounds: { type: 'string', default: '2' },
    threads: { type: 'string', default: '1' },
    bases: { type: 'string', default: 'f32' },
    rank: { type: 'string', default: '0' },
    group: { type: 'string' },
    beside: { type: 'string' },
  },
})
if (!flags.model) throw new Error('--model FILE, a folder, or shape:0.5b')
const [prompt, fresh, toRead, rounds, threads] = [
  flags.prompt,
  flags.new,
  flags.read,
  flags.rounds,
  flags.threads,
].map(Number) as [number, number, number, number, number]

interface Contender {
  name: string
  /** Processor seconds of `fresh` decoding steps with so many sequences. */
  decode(batch: number): Promise<number>
  /** Processor seconds of reading a prompt of `toRead` tokens. */
  read(): Promise<number>
  /** How far log-probs of the last samples are from the engine's scores. */
  mismatch?(): Promise<Mismatch>
}

if (flags.f32) await writeF32(flags.model, flags.f32)
const random = flags.model === 'shape:0.5b' ? randomModel() : undefined
const { spec } = random ?? (await loadDecoder(flags.model, { disk }))
const here = new URL('../../..', import.meta.url).pathname
const rank = Number(flags.rank)
const adapter = {
  ...{ rank: rank || 1, alpha: 2 * rank },
  targets: rank > 0 ? ADAPTER_TARGETS : (['o_proj'] as const),
}
const adapterWeights: Weights = Object.fromEntries(
  [...adapterShapes({ ...spec, adapter })].map(([name, [rows, columns]]) => [
    name,
    Float32Array.from({ length: rows! * columns! }, (_, i) => 0.01 * Math.sin(i)),
  ]),
)
const contenders: Contender[] = []
for (const base of flags.bases.split(',') as BasePrecision[])
  for (const checkout of flags.beside ? [here, flags.beside] : [here])
    contenders.push(await waggle(base, checkout))
if (flags.llama) contenders.push(...(await llamaCpp(flags.llama)))

console.log(
  `${flags.model}: prompts of ${prompt} tokens, ${fresh} steps, ${threads} threads, processor time, best of ${rounds} turns`,
)
if (toRead > 0) await compare('reading', toRead, ({ read }) => read())
for (const batch of flags.batches.split(',').map(Number)) {
  await compare(`batch ${batch}`, batch * fresh, ({ decode }) => decode(batch))
  for (const { name, mismatch } of contenders) {
    const found = await mismatch?.()
    if (found)
      console.log(`  ${name}: ${mismatchText(found)}, most ${found.largestDifference.toExponential(1)}`)
  }
}
process.exit(0)

async function compare(
  what: string,
  tokens: number,
  measure: (contender: Contender) => Promise<number>,
): Promise<void> {
  const best = contenders.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < rounds; round++)
    for (const [i, contender] of contenders.entries()) best[i] = Math.min(best[i]!, await measure(contender))
  const rates = best.map((seconds) => tokens / seconds)
  const parts = contenders.map(({ name }, i) => {
    const ratio = i === 0 ? '' : `, ratio ${(rates[0]! / rates[i]!).toFixed(2)}`
    return `${name} ${rates[i]!.toFixed(1)} tokens/s${ratio}`
  })
  console.log(`${what}: ${parts.join('; ')}`)
}

function token(i: number): number {
  return 1000 + ((i * 7919) % (spec.vocabulary - 1000 > 0 ? Math.min(20_000, spec.vocabulary - 1000) : 1))
}

async function waggle(base: BasePrecision, checkout: string): Promise<Contender> {
  const { createCore } = (await import(
    pathToFileURL(join(checkout, 'daemon/engine/onnx/core.ts')).href
  )) as typeof import('../../../daemon/engine/onnx/core.ts')
  const core = createCore({ threads, now: () => performance.now() })
  const source = (base === 'q8' || base === 'q4') && flags.f32 ? flags.f32 : flags.model!
  const weights = random?.weights ?? (await loadDecoderAs(source, { disk }, base)).weights
  await core.open({ spec: { ...spec, adapter }, weights: { ...weights, ...adapterWeights } })
  let last: Sample[] = []
  const tokensOf = (length: number, group = 0): Int32Array =>
    Int32Array.from({ length }, (_, i) => token(i + 31 * group) % spec.vocabulary)
  const promptOf = (seed: number): Int32Array =>
    tokensOf(prompt, Math.floor(seed / Number(flags.group ?? seed + 1)))
  const seconds = async (batch: number, maxNewTokens: number, of = promptOf): Promise<number> => {
    const samples = Array.from({ length: batch }, (_, seed) => ({ prompt: of(seed), seed }))
    const started = processorSeconds()
    last = await core.generate({ samples, maxNewTokens, temperature: 1, stopTokens: [], slots: batch })
    return processorSeconds() - started
  }
  await seconds(1, 2)
  return {
    name: `Waggle ${base}${checkout === here ? '' : ' beside'}`,
    async mismatch() {
      const sequences = last.map((sample, i) => ({ conditioning: promptOf(i), completion: sample.tokens }))
      const scores = await core.score({ sequences, temperature: 1 })
      const flat = (all: readonly { logprobs: Float32Array }[]) =>
        all.flatMap(({ logprobs }) => [...logprobs])
      return mismatchOf(flat(last), flat(scores))
    },
    read: () => seconds(1, 1, () => tokensOf(toRead)),
    async decode(batch) {
      // The first token comes from reading the prompt.
      const [read, all] = [await seconds(batch, 1), await seconds(batch, 1 + fresh)]
      return all - read
    },
  }
}

interface Sequence {
  evaluate(tokens: number[], options: object): AsyncGenerator<number>
  evaluateWithoutGeneratingNewTokens(tokens: number[]): Promise<void>
}
interface LlamaModel {
  createContext(options: object): Promise<{ getSequence(): Sequence; dispose(): Promise<void> }>
}
interface Llama {
  llamaCppRelease: { release: string }
  loadModel(options: object): Promise<LlamaModel>
}

async function llamaCpp(folder: string): Promise<Contender[]> {
  const at = createRequire(join(folder, 'package.json')).resolve('node-llama-cpp')
  const { getLlama } = (await import(pathToFileURL(at).href)) as { getLlama(options: object): Promise<Llama> }
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads })
  const scratch = await mkdtemp(join(tmpdir(), 'waggle-adapter-'))
  const filePath = join(scratch, 'adapter.gguf')
  const loras: object[] = [{}]
  if (rank > 0) {
    const base = await loadModel(flags.model!, { disk })
    const trained = {
      ...base,
      spec: { ...base.spec, adapter },
      weights: { ...base.weights, ...adapterWeights },
    }
    await writeGgufAdapter(trained, { target: filePath, type: 'F32' }, { disk })
    loras.push({ lora: { adapters: [{ filePath }] } })
  }
  process.once('exit', () => rmSync(scratch, { recursive: true }))
  const contextFor = (model: LlamaModel, lora: object, sequences: number) =>
    model.createContext({
      ...lora,
      sequences,
      contextSize: Math.max(prompt + fresh, toRead) + 8,
      batchSize: Math.max(512, sequences),
      threads,
    })
  const files = [flags.model!, ...(flags.f32 ? [flags.f32] : [])]
  const models = await Promise.all(files.map((modelPath) => llama.loadModel({ modelPath })))
  return models.flatMap((model, i) =>
    loras.map((lora) => {
      const what = `${i === 0 ? 'as it is' : 'F32'}${'lora' in lora ? ', with the adapter' : ''}`
      return {
        name: `llama.cpp ${llama.llamaCppRelease.release} ${what}`,
        async read() {
          const context = await contextFor(model, lora, 1)
          const sequence = context.getSequence()
          const started = processorSeconds()
          await sequence.evaluateWithoutGeneratingNewTokens(
            Array.from({ length: toRead }, (_, i) => token(i)),
          )
          const seconds = processorSeconds() - started
          await context.dispose()
          return seconds
        },
        async decode(batch: number) {
          const context = await contextFor(model, lora, batch)
          const sequences = Array.from({ length: batch }, () => context.getSequence())
          const tokens = Array.from({ length: prompt }, (_, i) => token(i))
          for (const sequence of sequences)
            await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(0, -1))
          const started = processorSeconds()
          await Promise.all(
            sequences.map(async (sequence) => {
              let left = fresh
              for await (const _ of sequence.evaluate(tokens.slice(-1), {
                temperature: 0,
                yieldEogToken: true,
              }))
                if (--left === 0) break
            }),
          )
          const seconds = processorSeconds() - started
          await context.dispose()
          return seconds
        },
      }
    }),
  )
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Random weights of Qwen2.5-0.5B's shape. */
function randomModel(): { spec: DecoderSpec; weights: Weights } {
  const spec: DecoderSpec = {
    ...{
      vocabulary: 151_936,
      width: 896,
      layers: 24,
      heads: 14,
      kvHeads: 2,
      headWidth: 64,
      feedForward: 4864,
    },
    ...{ contextLength: 2048, normEpsilon: 1e-6, ropeFrequencies: plainFrequencies(1_000_000, 64) },
    ...{ tiedEmbeddings: true, attentionBias: true, queryKeyNorm: false },
  }
  const weights: Weights = {}
  let state = 1
  for (const [name, shape] of parameterShapes(spec)) {
    const size = shape.reduce((a, b) => a * b, 1)
    const scale = (shape[1] ?? 1) ** -0.5
    const values = new Float32Array(size)
    for (let i = 0; i < size; i++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      values[i] = name.endsWith('norm.weight') ? 1 : (state / 2 ** 31 - 1) * scale
    }
    weights[name] = values
  }
  return { spec, weights }
}
