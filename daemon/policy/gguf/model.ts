// Presents a model in one GGUF file as if it were a folder in Hugging Face's layout.

import { WaggleError } from '../../../protocol/errors.ts'
import { type DecoderSpec, parameterShapes } from '../../engine/decoder.ts'
import type { Disk } from '../../store/disk.ts'
import { specOf } from '../architectures/index.ts'
import type { JsonObject, ModelFiles, ModelSource, TensorFacts, WeightSource } from '../files/model-files.ts'
import { modelError, quote } from '../safetensors/json.ts'
import { GGUF_FAMILIES, type GgufFamily } from './families.ts'
import { type Facts, factsOf } from './metadata.ts'
import { type Gguf, openGguf, type TensorPlace } from './read.ts'
import { fromGguf, huggingFaceName, reorderBlocks } from './tensors.ts'
import { readTokenizer } from './tokens/tokenizer.ts'
import { TENSOR_TYPES, type TensorType } from './types.ts'

/** Tensors that a converter may add and the decoder does not need. `rope_freqs` becomes part of the config. */
const IGNORED = new Set(['rope_freqs.weight'])

export function openGgufModel(path: string, { disk }: { disk: Disk }): ModelSource {
  async function opened<Result>(use: (file: Gguf) => Promise<Result>): Promise<Result> {
    const file = await openGguf({ path }, { disk })
    try {
      return await use(file)
    } finally {
      await file.close()
    }
  }
  const files = () => opened(readFiles)
  return {
    config: () => opened(async (file) => (await readConfig(file)).config),
    files,
    weights: async () => {
      const file = await openGguf({ path }, { disk })
      try {
        return await readWeights(file)
      } catch (error) {
        await file.close()
        throw error
      }
    },
    async copies() {
      const { tokenizer, tokenizerConfig, generation } = await files()
      return [
        ['tokenizer.json', JSON.stringify(tokenizer)],
        ['tokenizer_config.json', `${JSON.stringify(tokenizerConfig, null, 2)}\n`],
        ['generation_config.json', `${JSON.stringify(generation, null, 2)}\n`],
      ]
    },
  }
}

async function readFiles(file: Gguf): Promise<ModelFiles> {
  const { config } = await readConfig(file)
  const { tokenizer, tokenizerConfig, generation } = readTokenizer(factsOf(file), config.vocab_size as number)
  return { config, tokenizer, tokenizerConfig, specialTokens: undefined, generation, chatTemplate: undefined }
}

interface Described {
  config: JsonObject
  family: GgufFamily
  spec: DecoderSpec
}

async function readConfig(file: Gguf): Promise<Described> {
  const facts = factsOf(file)
  const family = familyOf(facts)
  const config = await configOf(file, family, facts)
  try {
    return { config, family, spec: specOf(config) }
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    throw modelError(file.where, error.message.replace(/^config\.json: /, ''), error.hint ?? '', error)
  }
}

function familyOf(facts: Facts): GgufFamily {
  const kind = facts.text('general.type') ?? 'model'
  const architecture = facts.text('general.architecture') ?? 'not given'
  if (kind !== 'model')
    throw facts.fail(`it holds a ${quote(kind)}, not a model`, 'Give the file of the model itself.')
  if ((facts.number('split.count') ?? 1) > 1) {
    throw facts.fail('it is one part of several', 'Join the parts with `llama-gguf-split --merge`.')
  }
  const family = GGUF_FAMILIES.find(({ name }) => name === architecture)
  if (family) return family
  throw facts.fail(
    `its architecture is ${quote(architecture)}, which is not supported`,
    `Supported: ${GGUF_FAMILIES.map(({ name }) => name).join(', ')}.`,
  )
}

async function configOf(file: Gguf, family: GgufFamily, facts: Facts): Promise<JsonObject> {
  const own = (key: string) => shortest(facts.number(`${family.name}.${key}`))
  const needed = (key: string): number => {
    const value = own(key)
    if (value !== undefined) return value
    throw facts.fail(`the metadata entry "${family.name}.${key}" is missing`)
  }
  const [width, heads, layers] = [
    needed('embedding_length'),
    needed('attention.head_count'),
    needed('block_count'),
  ]
  const headWidth = own('attention.key_length') ?? own('rope.dimension_count') ?? width / heads
  for (const key of ['attention.value_length', 'rope.dimension_count']) {
    const other = own(key) ?? headWidth
    if (other !== headWidth)
      throw facts.fail(`heads have ${headWidth} values and "${key}" ${other}, which is not supported`)
  }
  const table = file.tensors.get('token_embd.weight')
  if (!table) throw facts.fail('there is no tensor "token_embd.weight"')
  const hasFactors = family.interleaved === true && file.tensors.has('rope_freqs.weight')
  const ropeFactors = hasFactors ? await file.readFloat32('rope_freqs.weight') : undefined
  return {
    architectures: [family.architecture],
    vocab_size: table.shape[0]!,
    hidden_size: width,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: own('attention.head_count_kv') ?? heads,
    head_dim: headWidth,
    intermediate_size: needed('feed_forward_length'),
    rms_norm_eps: needed('attention.layer_norm_rms_epsilon'),
    max_position_embeddings: needed('context_length'),
    tie_word_embeddings: !file.tensors.has('output.weight'),
    ...family.config({ ...facts, own, width, heads, headWidth, layers, ropeFactors }),
  }
}

/** 1e-5 is in the file as F32, 0.00000999999974. Returns the shortest decimal that rounds to the same F32. */
function shortest(value: number | undefined): number | undefined {
  if (value === undefined || Number.isInteger(value) || Math.fround(value) !== value) return value
  for (let digits = 1; digits < 9; digits++) {
    const candidate = Number(value.toPrecision(digits))
    if (Math.fround(candidate) === value) return candidate
  }
  return value
}

async function readWeights(file: Gguf): Promise<WeightSource> {
  const { family, spec } = await readConfig(file)
  const { headWidth } = spec
  const parameters = parameterShapes(spec)
  const names = new Map<string, string>()
  for (const name of file.tensors.keys()) {
    const theirs = huggingFaceName(name, family)
    if (theirs !== undefined && parameters.has(theirs)) names.set(theirs, name)
    else if (!IGNORED.has(name)) {
      const hint = `It would change what a model of the family "${family.name}" computes here.`
      throw modelError(file.where, `the tensor ${quote(name)} is not supported`, hint)
    }
  }
  const placeOf = (theirs: string) => file.tensors.get(names.get(theirs) ?? theirs)
  const factsAt = (theirs: string, rows: number) => ({ name: theirs, rows, headWidth })
  return {
    tensors: new Map([...names].map(([theirs, name]) => [theirs, tensorFacts(file.tensors.get(name)!)])),
    async readFloat32(theirs, to, options) {
      const values = await file.readFloat32(names.get(theirs) ?? theirs, to, options)
      const { shape } = placeOf(theirs)!
      const rows = shape.length === 1 ? shape[0]! : values.length / shape[1]!
      fromGguf(values, factsAt(theirs, rows), family)
      return values
    },
    async readBlocks(theirs, options) {
      const blocks = await file.readBlocks(names.get(theirs) ?? theirs, options)
      reorderBlocks(blocks, factsAt(theirs, placeOf(theirs)!.shape[0]!), family)
      return blocks
    },
    close: file.close,
  }
}

function tensorFacts({ shape, type }: TensorPlace): TensorFacts {
  const { quantized }: TensorType = TENSOR_TYPES[type]
  if (!quantized) return { shape, isHalf: type !== 'F32' }
  return { shape, quantized: { ...quantized, isRound: type === 'Q8_0' } }
}
