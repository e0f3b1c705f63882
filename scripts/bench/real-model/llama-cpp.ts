// A GGUF file in Waggle and in llama.cpp: the same tokens for the same text, the same log-probs for the same tokens.
//
//   npm install --prefix FOLDER node-llama-cpp
//   node --import tsx scripts/bench/real-model/llama-cpp.ts --model FILE.gguf --llama FOLDER [--texts 400] [--f32 COPY.gguf [--exports]] [--values FILE]
//
// With --f32 it writes the model's F32 values to another file and scores that with llama.cpp as well, with its cache in
// F32: there llama.cpp rounds neither activations nor keys and values, so what remains is the two programs' own
// difference. With --exports it also writes, beside that copy, an adapter with random values and the merged models, as
// `waggle export` does, and compares what llama.cpp computes with them with what the engine computes with the adapter.
// --values keeps all log-probs.

import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ADAPTER_TARGETS, adapterShapes, type DecoderSpec } from '../../../daemon/engine/decoder.ts'
import { createOnnxEngine } from '../../../daemon/engine/onnx/index.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { modelSource } from '../../../daemon/policy/files/model-source.ts'
import { writeGgufAdapter, writeGgufModel } from '../../../daemon/policy/gguf/export.ts'
import { loadModel, type Model, textModelOf } from '../../../daemon/policy/model.ts'
import { scoreSequences } from '../../../daemon/policy/score.ts'
import type { Tokenizer } from '../../../daemon/policy/tokens/tokenizer.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { writeF32 } from './f32-copy.ts'
import { PASSAGES, textsOf } from './texts.ts'

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    llama: { type: 'string' },
    texts: { type: 'string', default: '400' },
    f32: { type: 'string' },
    exports: { type: 'boolean', default: false },
    values: { type: 'string' },
  },
})
if (!flags.model || !flags.llama) throw new Error('--model FILE.gguf and --llama FOLDER')

interface Logits {
  next: { logits?: Map<number, number> }
}
interface Sequence {
  controlledEvaluate(input: unknown[]): Promise<(Logits | undefined)[]>
  clearHistory(): Promise<void>
}
interface LlamaModel {
  tokenize(text: string, special: boolean): number[]
  createContext(options: object): Promise<{ getSequence(): Sequence; dispose(): Promise<void> }>
  dispose(): Promise<void>
}
interface Llama {
  llamaCppRelease: { release: string }
  loadModel(options: object): Promise<LlamaModel>
}

const at = createRequire(join(flags.llama, 'package.json')).resolve('node-llama-cpp')
const { getLlama } = (await import(pathToFileURL(at).href)) as { getLlama(options: object): Promise<Llama> }
const llama = await getLlama({ gpu: false, build: 'never' })
const threads = Math.min(2, availableParallelism())
console.log(`llama.cpp ${llama.llamaCppRelease.release}, ${flags.model}`)

const { tokenizer } = textModelOf(await (await modelSource(flags.model, { disk })).files())
const theirs = await llama.loadModel({ modelPath: flags.model })
compareTokens(tokenizer, theirs)

const values: Record<string, { ours: readonly number[]; theirs: readonly number[] }> = {}
const passages = PASSAGES.map((text) => tokenizer.encodeText(text))
const quantized = await logprobsOf(theirs, passages, {})
await theirs.dispose()
const ours = await scoredHere()
report('as it is', ours, quantized)
if (flags.f32) {
  await writeF32(flags.model, flags.f32)
  const exact = await llama.loadModel({ modelPath: flags.f32 })
  const cache = { experimentalKvCacheKeyType: 'F32', experimentalKvCacheValueType: 'F32' }
  report('its values as F32, cache in F32', ours, await logprobsOf(exact, passages, cache))
  await exact.dispose()
  if (flags.exports) await compareExports(flags.f32, cache)
}
if (flags.values)
  await writeFile(flags.values, JSON.stringify({ ids: passages.map((ids) => [...ids]), ...values }))
process.exit(0)

async function compareExports(plain: string, cache: object): Promise<void> {
  const base = await loadModel(flags.model!, { disk })
  const spec: DecoderSpec = { ...base.spec, adapter: { rank: 8, alpha: 16, targets: ADAPTER_TARGETS } }
  const random = randomStream(1, 'adapter')
  const adapter = Object.fromEntries(
    [...adapterShapes(spec)].map(([name, [rows, columns]]) => [
      name,
      Float32Array.from({ length: rows! * columns! }, () => (random() - 0.5) * 0.04),
    ]),
  )
  const model = { ...base, spec, weights: { ...base.weights, ...adapter } }
  const ours = await scoresOf(model)
  const path = (what: string) => plain.replace(/\.gguf$/, `-${what}.gguf`)
  await writeGgufAdapter(model, { target: path('adapter'), type: 'F32' }, { disk })
  const lora = { adapters: [{ filePath: path('adapter') }] }
  const on = await llama.loadModel({ modelPath: plain })
  report('adapter.gguf on the F32 copy', ours, await logprobsOf(on, passages, { ...cache, lora }))
  report('the F32 copy without it', ours, await logprobsOf(on, passages, cache))
  await on.dispose()
  for (const type of ['F16', 'Q8_0'] as const) {
    await writeGgufModel(model, { target: path(type), type }, { disk })
    const merged = await llama.loadModel({ modelPath: path(type) })
    report(`merged ${type}`, ours, await logprobsOf(merged, passages, cache))
    await merged.dispose()
  }
}

function compareTokens(own: Tokenizer, other: LlamaModel): void {
  const different: string[] = []
  const texts = textsOf(Number(flags.texts))
  let tokens = 0
  for (const text of texts) {
    const [a, b] = [[...own.encode(text)], other.tokenize(text, true)]
    tokens += b.length
    if (a.join() !== b.join()) different.push(`${JSON.stringify(text)}: ${a} | ${b}`)
  }
  console.log(`tokens: ${texts.length} texts of ${tokens} tokens, ${different.length} differ`)
  for (const line of different.slice(0, 20)) console.log(`  ${line}`)
}

async function logprobsOf(model: LlamaModel, all: readonly Int32Array[], options: object): Promise<number[]> {
  const context = await model.createContext({ contextSize: 512, flashAttention: false, threads, ...options })
  const sequence = context.getSequence()
  const scored: number[] = []
  for (const tokens of all) {
    await sequence.clearHistory()
    const input = [...tokens].map((token) => [token, { generateNext: { logits: true } }])
    const answers = await sequence.controlledEvaluate(input)
    for (let i = 0; i + 1 < tokens.length; i++) {
      const logits = answers[i]!.next.logits!
      let most = Number.NEGATIVE_INFINITY
      for (const logit of logits.values()) most = Math.max(most, logit)
      let sum = 0
      for (const logit of logits.values()) sum += Math.exp(logit - most)
      scored.push(logits.get(tokens[i + 1]!)! - most - Math.log(sum))
    }
  }
  await context.dispose()
  return scored
}

async function scoredHere(): Promise<number[]> {
  const started = performance.now()
  const model = await loadModel(flags.model!, { disk })
  console.log(`loaded here in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return await scoresOf(model)
}

async function scoresOf(model: Model): Promise<number[]> {
  const engine = await createOnnxEngine({ threads })
  await engine.open(model)
  const sequences = passages.map((ids) => ({ conditioning: ids.slice(0, 1), completion: ids.slice(1) }))
  const scores = await scoreSequences(sequences, { tokens: 256 }, { engine })
  await engine.close()
  return scores.flatMap(({ logprobs }) => [...logprobs])
}

function report(what: string, ours: readonly number[], theirs: readonly number[]): void {
  values[what] = { ours, theirs }
  const apart = ours.map((value, i) => Math.abs(value - theirs[i]!)).sort((a, b) => a - b)
  const mean = apart.reduce((a, b) => a + b, 0) / apart.length
  const perplexity = (values: readonly number[]) =>
    Math.exp(-values.reduce((a, b) => a + b, 0) / values.length)
  console.log(
    `${what}: ${apart.length} log-probs, apart by ${mean.toExponential(1)} in the mean, ${apart[Math.floor(apart.length * 0.99)]!.toExponential(1)} for 99 %, ${apart.at(-1)!.toExponential(1)} at most; perplexity ${perplexity(ours).toFixed(3)} here, ${perplexity(theirs).toFixed(3)} in llama.cpp`,
  )
}
