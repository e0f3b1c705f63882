// The memory plan of published models, computed without loading them: the table of docs/models.md. "Least" is the
// smallest budget that the plan accepts, "at full speed" what it uses when memory is not limited.
//
//   node --import tsx scripts/bench/models/sizes.ts

import {
  ADAPTER_TARGETS,
  type DecoderSpec,
  parameterCount,
  parameterShapes,
} from '../../../daemon/engine/decoder.ts'
import { type BasePrecision, bytesIn } from '../../../daemon/policy/files/base-weights.ts'
import { planMemory, type Wish } from '../../../daemon/policy/memory-plan/index.ts'

type Shape = Pick<DecoderSpec, 'vocabulary' | 'width' | 'layers' | 'heads' | 'kvHeads' | 'feedForward'> &
  Partial<DecoderSpec>

/** As their config.json has it; all have tied embeddings. */
const MODELS: Record<string, Shape> = {
  'HuggingFaceTB/SmolLM2-135M-Instruct': shape(49_152, 576, 30, 9, 3, 1536),
  'HuggingFaceTB/SmolLM2-360M-Instruct': shape(49_152, 960, 32, 15, 5, 2560),
  'Qwen/Qwen2.5-0.5B-Instruct': { ...shape(151_936, 896, 24, 14, 2, 4864), attentionBias: true },
  'Qwen/Qwen3-0.6B': { ...shape(151_936, 1024, 28, 16, 8, 3072), headWidth: 128, queryKeyNorm: true },
  'meta-llama/Llama-3.2-1B-Instruct': shape(128_256, 2048, 16, 32, 8, 8192),
  'Qwen/Qwen2.5-1.5B-Instruct': { ...shape(151_936, 1536, 28, 12, 2, 8960), attentionBias: true },
  'HuggingFaceTB/SmolLM2-1.7B-Instruct': shape(49_152, 2048, 24, 32, 32, 8192),
  'Qwen/Qwen3-1.7B': { ...shape(151_936, 2048, 28, 16, 8, 6144), headWidth: 128, queryKeyNorm: true },
}

function shape(
  vocabulary: number,
  width: number,
  layers: number,
  heads: number,
  kvHeads: number,
  feedForward: number,
): Shape {
  return { vocabulary, width, layers, heads, kvHeads, feedForward }
}

const WORK: Wish['work'] = { prompt: 128, completion: 256, mixes: true }

/** `q4`: an adapter on frozen weights of 4 bits. */
type Method = 'full' | 'lora' | 'q4'

function total(spec: DecoderSpec, how: Method, budget: number): number | undefined {
  const adapter = { rank: 16, alpha: 32, targets: [...ADAPTER_TARGETS] }
  const method = how === 'full' ? 'full' : 'lora'
  const tensors = new Map([...parameterShapes(spec)].map(([name, shape]) => [name, { shape }]))
  const bytes = (precision: BasePrecision) => bytesIn(tensors, spec, precision)
  const base = how === 'q4' ? { base: { asked: how, bytes } } : {}
  try {
    const size = { microBatchTokens: 0, isOnProcessor: true, budget }
    const wish = { method, adapter, ...size, work: WORK, ...base } as const
    return planMemory('', spec, wish).estimate.total
  } catch {
    return undefined
  }
}

function least(spec: DecoderSpec, method: Method): number {
  let [low, high] = [0, 1e12]
  while (high - low > 1e7) {
    const middle = (low + high) / 2
    if (total(spec, method, middle) === undefined) low = middle
    else high = middle
  }
  return high
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`

console.log(
  '| model | parameters | LoRA on 4 bits: least | LoRA: least | at full speed | all parameters: least | at full speed |',
)
console.log('|---|---|---|---|---|---|---|')
for (const [name, given] of Object.entries(MODELS)) {
  const spec: DecoderSpec = {
    headWidth: given.width / given.heads,
    normEpsilon: 1e-6,
    ropeFrequencies: [],
    contextLength: 2048,
    tiedEmbeddings: true,
    attentionBias: false,
    queryKeyNorm: false,
    ...given,
  }
  const cells = (['lora', 'full'] as const).flatMap((method) => [
    gigabytes(least(spec, method)),
    gigabytes(total(spec, method, Number.POSITIVE_INFINITY)!),
  ])
  console.log(
    `| \`${name}\` | ${(parameterCount(spec) / 1e6).toFixed(0)} M | ${gigabytes(least(spec, 'q4'))} | ${cells.join(' | ')} |`,
  )
}
