// GGUF files of every family give the model that a folder in Hugging Face's layout would.

import { describe, expect, test } from 'vitest'
import type { DecoderSpec } from '../../../daemon/engine/decoder.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { specOf } from '../../../daemon/policy/architectures/index.ts'
import { loadDecoder, loadModel, type Model } from '../../../daemon/policy/model.ts'
import { CONFIGS } from '../../conformance/families.ts'
import { folderDisk } from '../folder-disk.ts'
import {
  byteLevelEntries,
  type Entries,
  entriesOf,
  ggufBytes,
  randomWeights,
  sentencePieceEntries,
  tensorsOf,
} from './make.ts'

const PATH = '/model/m.gguf'
const FAMILIES: [keyof typeof CONFIGS, string, Entries][] = [
  ['Llama 2', 'llama', {}],
  ['SmolLM2', 'llama', {}],
  ['Qwen2.5', 'qwen2', {}],
  ['Qwen3', 'qwen3', {}],
  [
    'Gemma 2',
    'gemma2',
    {
      'gemma2.attention.sliding_window': { kind: 'u32', value: 8 },
      'gemma2.attn_logit_softcapping': { kind: 'f32', value: 50 },
      'gemma2.final_logit_softcapping': { kind: 'f32', value: 30 },
    },
  ],
  [
    'Gemma 3',
    'gemma3',
    {
      'gemma3.attention.sliding_window': { kind: 'u32', value: 8 },
      'gemma3.attention.sliding_window_pattern': { kind: 'u32', value: 2 },
    },
  ],
]

/** A vocabulary that holds the tokenizer. */
const configOf = (name: keyof typeof CONFIGS) => ({ ...CONFIGS[name], vocab_size: 300 })

async function made(name: keyof typeof CONFIGS, family: string, extra: Entries = {}) {
  const config = configOf(name)
  const spec = specOf(config)
  const weights = randomWeights(spec)
  const entries = { ...entriesOf(family, config), ...byteLevelEntries(), ...extra }
  return { spec, weights, bytes: await ggufBytes(entries, tensorsOf(family, spec, weights)) }
}

const load = (bytes: Buffer): Promise<Model> =>
  loadModel(PATH, { disk: folderDisk(new Map([['m.gguf', bytes]]), new Map()).disk })

describe.each(FAMILIES)('%s', (name, family, extra) => {
  test('the spec is that of config.json, and the weights are the same', async () => {
    const { spec, weights, bytes } = await made(name, family, extra)
    const model = await load(bytes)
    expect(model.spec).toEqual(spec)
    expect(Object.keys(model.weights)).toEqual(Object.keys(weights))
    for (const [tensor, values] of Object.entries(weights)) {
      const apart = values.map((value, i) => Math.abs(value - model.weights[tensor]![i]!))
      // Gemma's norms are 1 + weight in the file.
      expect(Math.max(...apart), tensor).toBeLessThan(1e-7)
    }
    const decoder = await loadDecoder(PATH, {
      disk: folderDisk(new Map([['m.gguf', bytes]]), new Map()).disk,
    })
    expect(decoder.digest).toBe(model.digest)
  })
})

test("Llama's rows of queries and keys are put back as the converter's own definition says", async () => {
  const { spec, weights } = await made('Llama 2', 'llama')
  const name = 'model.layers.1.self_attn.q_proj.weight'
  const [tensor] = [tensorsOf('llama', spec, weights).get('blk.1.attn_q.weight')!]
  const [hf, gguf] = [weights[name]!, await tensor.data()]
  const { heads, headWidth, width } = spec
  // convert_hf_to_gguf.py: weights.reshape(heads, 2, width / heads / 2, columns).swapaxes(1, 2)
  for (let head = 0; head < heads; head++)
    for (let half = 0; half < 2; half++)
      for (let i = 0; i < headWidth / 2; i++)
        for (let column = 0; column < width; column++) {
          const from = (head * headWidth + half * (headWidth / 2) + i) * width + column
          const to = (head * headWidth + i * 2 + half) * width + column
          if (gguf[to] !== hf[from]) throw new Error(`head ${head}, half ${half}, row ${i}`)
        }
})

test("Llama 3's divisors of frequencies become its settings", async () => {
  const config = { ...configOf('Llama 3.2'), rope_theta: 500_000, rope_scaling: LLAMA3 }
  const spec = specOf(config)
  const { rope_scaling: _, ...plain } = config
  const factors = specOf(plain).ropeFrequencies.map((frequency, i) => frequency / spec.ropeFrequencies[i]!)
  const tensors = tensorsOf('llama', spec, randomWeights(spec))
  const entries = { ...entriesOf('llama', config), ...byteLevelEntries('llama-bpe') }
  const data = (values: number[]) =>
    ({ shape: [4], type: 'F32', data: () => Float32Array.from(values) }) as const
  const bytes = await ggufBytes(entries, new Map([...tensors, ['rope_freqs.weight', data(factors)]]))
  const model = await load(bytes)
  expect(model.files.config.rope_scaling).toEqual(LLAMA3)
  expect(model.spec).toEqual(spec)
  const others = await ggufBytes(entries, new Map([...tensors, ['rope_freqs.weight', data([1, 2, 3, 32])]]))
  await expect(load(others)).rejects.toThrow(
    /"rope_freqs.weight" does not have the values of a Llama 3 model/,
  )
})

describe("linear scaling of positions is read as llama.cpp's loader reads it", () => {
  const scalingOf = async (extra: Entries): Promise<unknown> => {
    const { bytes } = await made('Llama 2', 'llama', extra)
    return (await load(bytes)).files.config.rope_scaling
  }
  const type = (value: string): Entries => ({ 'llama.rope.scaling.type': { kind: 'text', value } })
  const factor = (value: number): Entries => ({ 'llama.rope.scaling.factor': { kind: 'f32', value } })
  const older = (value: number): Entries => ({ 'llama.rope.scale_linear': { kind: 'f32', value } })

  test.each<[string, Entries, number | null]>([
    ['a type and a factor', { ...type('linear'), ...factor(4) }, 4],
    ['the key of 2023 alone', older(4), 4],
    ['a type and the key of 2023', { ...type('linear'), ...older(4) }, 4],
    ['a factor without a type', factor(4), 4],
    ['both keys: the newer one', { ...factor(2), ...older(4) }, 2],
    ['a factor of 0', { ...factor(0), ...older(4) }, null],
    ['the type "none"', { ...type('none'), ...factor(4) }, null],
  ])('%s', async (_, extra, wanted) => {
    expect(await scalingOf(extra)).toEqual(wanted && { rope_type: 'linear', factor: wanted })
  })
})

const LLAMA3 = {
  rope_type: 'llama3',
  factor: 32,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
}

describe('the tokenizer', () => {
  test('byte-level BPE: merges, digits one by one, added tokens, the chat template and its end', async () => {
    const { tokenizer } = await load((await made('SmolLM2', 'llama')).bytes)
    const id = (token: string) => tokenizer.encode(token)[0]!
    expect([...tokenizer.encode('hello hell01')]).toEqual([
      ...[id('hello'), id(' '), id('hell'), id('0'), id('1')],
    ])
    expect([...tokenizer.encode('<tool><|im_end|>')]).toEqual([id('<tool>'), 1])
    expect(tokenizer.decodeCompletion(Int32Array.of(id('hello'), id(' '), id('<tool>'), 1))).toBe(
      'hello <tool>',
    )
    expect(tokenizer.stopTokens).toEqual([1])
    expect([...tokenizer.encodeChat([{ role: 'user', content: 'he' }], { prompt: true })]).toEqual([
      ...[0, ...tokenizer.encode('userhe'), 1],
    ])
    // U+0085 is a space and U+FEFF is none, in whatever language the expressions run.
    expect([...tokenizer.encode('he \u0085he')].at(-1)).toBe(id('he'))
    // No BOS unless the file asks for it.
    expect(tokenizer.encodeText('he')).toHaveLength(1)
  })

  test('SentencePiece: the highest score first, bytes for the rest, BOS and a space in front', async () => {
    const config = { ...configOf('Llama 2') }
    const spec: DecoderSpec = specOf(config)
    const weights: Weights = randomWeights(spec)
    const entries = { ...entriesOf('llama', config), ...sentencePieceEntries() }
    const { tokenizer, files } = await load(await ggufBytes(entries, tensorsOf('llama', spec, weights)))
    const { vocab } = files.tokenizer.model as { vocab: Record<string, number> }
    const ids = (...tokens: string[]) => tokens.map((token) => vocab[token])
    expect([...tokenizer.encodeText('abc')]).toEqual(ids('<bos>', '▁ab', 'c'))
    expect([...tokenizer.encode('abcbc ü')]).toEqual(ids('▁ab', 'c', 'bc', '▁', '<0xC3>', '<0xBC>'))
    expect([...tokenizer.encode('a\n\n')]).toEqual(ids('▁', 'a', '\n\n'))
    expect(tokenizer.decodeCompletion(tokenizer.encode('abc ü'))).toBe('abc ü')
    expect(tokenizer.stopTokens).toEqual([2])
  })
})

test.each<[string, string, Entries, RegExp]>([
  [
    'another family',
    'mamba',
    { 'general.architecture': { kind: 'text', value: 'mamba' } },
    /^m.gguf: its architecture is "mamba"/,
  ],
  [
    'an adapter',
    'llama',
    { 'general.type': { kind: 'text', value: 'adapter' } },
    /it holds a "adapter", not a model/,
  ],
  ['one part', 'llama', { 'split.count': { kind: 'u32', value: 3 } }, /one part of several/],
  ['a missing size', 'llama', { 'llama.block_count': undefined }, /"llama.block_count" is missing/],
  [
    'a size of another type',
    'llama',
    { 'llama.block_count': { kind: 'text', value: '2' } },
    /"llama.block_count" must be a number/,
  ],
  [
    'partial rotation',
    'llama',
    { 'llama.rope.dimension_count': { kind: 'u32', value: 2 } },
    /heads have 4 values and "rope.dimension_count" 2/,
  ],
  [
    'scaled rotation',
    'llama',
    { 'llama.rope.scaling.type': { kind: 'text', value: 'yarn' } },
    /^m.gguf: "rope_scaling" has the type "yarn"/,
  ],
  ['no tokens', 'llama', { 'tokenizer.ggml.tokens': undefined }, /there is no tokenizer in it/],
  [
    'another kind of tokenizer',
    'llama',
    { 'tokenizer.ggml.model': { kind: 'text', value: 'bert' } },
    /of the kind "bert"/,
  ],
  [
    'another way to split',
    'llama',
    { 'tokenizer.ggml.pre': { kind: 'text', value: 'x\u001b' } },
    /splits text as "x[^\u001b]*"/,
  ],
])('what cannot be followed is refused by name: %s', async (_, family, extra, message) => {
  const { bytes } = await made('Llama 2', family === 'llama' ? family : 'llama', extra)
  await expect(load(bytes)).rejects.toMatchObject({
    code: 'E_MODEL',
    message: expect.stringMatching(message),
  })
})

async function loadWith(name: string, size: number): Promise<Model> {
  const { spec, weights } = await made('Llama 2', 'llama')
  const tensors = tensorsOf('llama', spec, weights)
  tensors.set(name, { shape: [size], type: 'F32', data: () => new Float32Array(size) })
  const entries = { ...entriesOf('llama', configOf('Llama 2')), ...byteLevelEntries() }
  return load(await ggufBytes(entries, tensors))
}

test.each([
  ['that no family has', 'blk.0.attn_output.bias', 16],
  ["that only another family's models have", 'blk.0.attn_q.bias', 16],
  ["that only another family's layers have", 'blk.0.attn_q_norm.weight', 4],
  ['of a layer that the model does not have', 'blk.9.attn_norm.weight', 16],
])('a tensor %s is refused', async (_, name, size) => {
  await expect(loadWith(name, size)).rejects.toMatchObject({
    code: 'E_MODEL',
    message: `m.gguf: the tensor "${name}" is not supported`,
    hint: expect.stringContaining('It would change what a model of the family "llama" computes'),
  })
})
