// Small GGUF files of every family, with random weights and a small tokenizer of either kind.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DecoderSpec, parameterShapes } from '../../../daemon/engine/decoder.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { specOf } from '../../../daemon/policy/architectures/index.ts'
import type { WrittenType } from '../../../daemon/policy/gguf/blocks/quantize.ts'
import { writeGgufModel } from '../../../daemon/policy/gguf/export.ts'
import { GGUF_FAMILIES } from '../../../daemon/policy/gguf/families.ts'
import { ggufName, toGguf } from '../../../daemon/policy/gguf/tensors.ts'
import { type Entry, encodeEntry, encodeGguf, type GgufTensor } from '../../../daemon/policy/gguf/write.ts'
import { loadModel } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { CONFIGS } from '../../conformance/families.ts'

export type Entries = Record<string, Entry | undefined>

const u32 = (value: number): Entry => ({ kind: 'u32', value })
const f32 = (value: number): Entry => ({ kind: 'f32', value })
const text = (value: string): Entry => ({ kind: 'text', value })
const texts = (value: string[]): Entry => ({ kind: 'texts', value })

/** What llama.cpp's converter writes for a config.json. */
export function entriesOf(family: string, config: Record<string, unknown>): Entries {
  const spec = specOf(config)
  const own = (key: string) => `${family}.${key}`
  return {
    'general.architecture': text(family),
    [own('block_count')]: u32(spec.layers),
    [own('context_length')]: u32(spec.contextLength),
    [own('embedding_length')]: u32(spec.width),
    [own('feed_forward_length')]: u32(spec.feedForward),
    [own('attention.head_count')]: u32(spec.heads),
    [own('attention.head_count_kv')]: u32(spec.kvHeads),
    [own('attention.key_length')]: u32(spec.headWidth),
    [own('attention.value_length')]: u32(spec.headWidth),
    [own('attention.layer_norm_rms_epsilon')]: f32(spec.normEpsilon),
    [own('rope.freq_base')]: f32(Number(config.rope_theta)),
  }
}

/** Letters, the merges "he", "ll", "hell" and "hello", and three special tokens. */
export function byteLevelEntries(pre = 'smollm'): Entries {
  const letters = [...'abcdefghijklmnopqrstuvwxyz', 'Ġ', '0', '1']
  const tokens = ['<|im_start|>', '<|im_end|>', ...letters, 'he', 'll', 'hell', 'hello', '<tool>']
  return {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.pre': text(pre),
    'tokenizer.ggml.tokens': texts(tokens),
    'tokenizer.ggml.token_type': {
      kind: 'i32s',
      value: tokens.map((token) => (/^<\|/.test(token) ? 3 : token === '<tool>' ? 4 : 1)),
    },
    'tokenizer.ggml.merges': texts(['h e', 'l l', 'he ll', 'hell o']),
    'tokenizer.ggml.bos_token_id': u32(0),
    'tokenizer.ggml.eos_token_id': u32(1),
    'tokenizer.chat_template': text(
      "{% for message in messages %}{{ '<|im_start|>' + message.role + message.content + '<|im_end|>' }}{% endfor %}",
    ),
  }
}

/** Scores that merge "ab" before "bc", and bytes for what is no token. */
export function sentencePieceEntries(): Entries {
  const pieces: [string, number, number][] = [
    ['<unk>', 2, 0],
    ['<bos>', 3, 0],
    ['<eos>', 3, 0],
    ...Array.from({ length: 256 }, (_, byte): [string, number, number] => [
      `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
      6,
      0,
    ]),
    ...[...'▁abc'].map((letter, i): [string, number, number] => [letter, 1, -100 - i]),
    ['bc', 1, -2],
    ['ab', 1, -1],
    ['▁ab', 1, -3],
    ['abc', 1, -4],
    ['\n\n', 4, -1000],
  ]
  return {
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': texts(pieces.map(([piece]) => piece)),
    'tokenizer.ggml.token_type': { kind: 'i32s', value: pieces.map(([, type]) => type) },
    'tokenizer.ggml.scores': { kind: 'f32s', value: pieces.map(([, , score]) => score) },
    'tokenizer.ggml.bos_token_id': u32(1),
    'tokenizer.ggml.eos_token_id': u32(2),
    'tokenizer.ggml.unknown_token_id': u32(0),
  }
}

export function randomWeights(spec: DecoderSpec, seed = 1): Weights {
  const random = randomStream(seed, 'weights')
  const weights: Weights = {}
  for (const [name, shape] of parameterShapes(spec)) {
    weights[name] = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random() - 0.5)
  }
  return weights
}

/** Tensors as llama.cpp's converter writes them. */
export function tensorsOf(
  family: string,
  spec: DecoderSpec,
  weights: Weights,
  type: WrittenType = 'F32',
): Map<string, GgufTensor> {
  const of = GGUF_FAMILIES.find(({ name }) => name === family)!
  return new Map(
    [...parameterShapes(spec)].map(([name, shape]) => [
      ggufName(name, of),
      {
        shape,
        type: shape.length === 1 ? 'F32' : type,
        data: () => toGguf(weights[name]!, { name, rows: shape[0]!, headWidth: spec.headWidth }, of),
      },
    ]),
  )
}

export async function ggufBytes(entries: Entries, tensors: ReadonlyMap<string, GgufTensor>): Promise<Buffer> {
  const metadata = new Map<string, Uint8Array>()
  for (const [key, entry] of Object.entries(entries)) if (entry) metadata.set(key, encodeEntry(key, entry))
  const pieces: Uint8Array[] = []
  for await (const piece of encodeGguf({ metadata, tensors }).content) pieces.push(Uint8Array.from(piece))
  return Buffer.concat(pieces)
}

/** Writes a small model whose matrices have 8 bits, and gives its path. */
export async function eightBitFile(folder: string): Promise<string> {
  const config = { ...CONFIGS['Llama 2'], vocab_size: 300, hidden_size: 32 }
  const spec = specOf(config)
  const entries = { ...entriesOf('llama', config), ...byteLevelEntries() }
  const [plain, file] = [join(folder, 'plain.gguf'), join(folder, 'q8.gguf')]
  await writeFile(plain, await ggufBytes(entries, tensorsOf('llama', spec, randomWeights(spec))))
  await writeGgufModel(await loadModel(plain, { disk }), { target: file, type: 'Q8_0' }, { disk })
  return file
}
