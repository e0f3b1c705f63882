// Loads damaged models by the thousand: each loads, or gives one clear error. Counts what is allocated, and looks at
// every file that is opened.

import { type DecoderSpec, parameterShapes } from '../../daemon/engine/decoder.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { encodeSafetensors, type TensorSource } from '../../daemon/policy/safetensors/read.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { folderDisk } from './folder-disk.ts'
import { type Folder, mutateModel } from './mutate-model.ts'
import { asciiTokenizer } from './tokenizers.ts'

export interface FuzzReport {
  loaded: number
  refused: number
  /** Messages with names and numbers taken out. */
  messages: Map<string, number>
  /** Most bytes that one load allocated beyond the size of its files. */
  mostBeyond: number
}

const SPARE = 100e6

export async function fuzzModels(
  { cases }: { cases: number },
  { random }: { random: () => number },
): Promise<FuzzReport> {
  const seeds = [await singleFile(), await shards()]
  const report: FuzzReport = { loaded: 0, refused: 0, messages: new Map(), mostBeyond: 0 }
  const meter = meterAllocations()
  try {
    for (let i = 0; i < cases; i++) {
      const { what, folder, links } = mutateModel(seeds[i % seeds.length]!, random)
      let size = 0
      for (const bytes of folder.values()) size += bytes.length
      const { disk, opened } = folderDisk(folder, links)
      meter.reset()
      let error: unknown
      try {
        await loadModel('/model', { disk })
        report.loaded++
      } catch (caught) {
        error = caught
        report.refused++
      }
      const beyond = meter.bytes() - size
      report.mostBeyond = Math.max(report.mostBeyond, beyond)
      const wrong =
        (error !== undefined && unclear(error)) ||
        opened.some((path) => !path.startsWith('/model/')) ||
        beyond > SPARE
      if (wrong) {
        throw new Error(
          `case ${i} (${what}): ${(error as Error)?.stack}; opened ${opened}; ${beyond} bytes beyond`,
        )
      }
      if (error) {
        const kind = (error as Error).message.replace(/"[^"]*"?|\d[\d,.e+]*/g, '#').slice(0, 80)
        report.messages.set(kind, (report.messages.get(kind) ?? 0) + 1)
      }
    }
  } finally {
    meter.end()
  }
  return report
}

/** What a person could not make sense of, or should not have on the terminal. */
export function unclear(error: unknown): boolean {
  if (!(error instanceof WaggleError) || error.code !== 'E_MODEL') return true
  return (
    error.message.length === 0 ||
    error.message.length > 1000 ||
    /[\u0000-\u001f\u007f-\u009f\u202e]/.test(error.message)
  )
}

/** Sums what typed arrays and buffers take while it runs. */
export function meterAllocations() {
  let bytes = 0
  const names = [
    'Uint8Array',
    'Uint16Array',
    'Uint32Array',
    'Int8Array',
    'Int16Array',
    'Int32Array',
    'Float32Array',
    'Float64Array',
    'BigInt64Array',
    'BigUint64Array',
    'ArrayBuffer',
    'SharedArrayBuffer',
  ] as const
  const scope = globalThis as unknown as Record<string, new (...args: unknown[]) => object>
  const originals = names.map((name) => [name, scope[name]!] as const)
  for (const [name, original] of originals) {
    const each = (original as unknown as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1
    scope[name] = new Proxy(original, {
      construct(target, args, newTarget) {
        if (typeof args[0] === 'number') bytes += args[0] * each
        return Reflect.construct(target, args, newTarget === scope[name] ? target : newTarget)
      },
    })
  }
  return {
    reset: () => {
      bytes = 0
    },
    bytes: () => bytes,
    end: () => {
      for (const [name, original] of originals) scope[name] = original
    },
  }
}

const LLAMA = {
  architectures: ['LlamaForCausalLM'],
  vocab_size: 104,
  hidden_size: 8,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 4,
  intermediate_size: 12,
  hidden_act: 'silu',
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  max_position_embeddings: 64,
  tie_word_embeddings: true,
}

async function singleFile(): Promise<Folder> {
  const folder = smallFiles(LLAMA)
  folder.set('model.safetensors', await encoded(specOf(LLAMA), () => true, 'BF16'))
  return folder
}

async function shards(): Promise<Folder> {
  const config = { ...LLAMA, architectures: ['Qwen2ForCausalLM'], tie_word_embeddings: false }
  const folder = smallFiles(config)
  const spec = specOf(config)
  const names = [...parameterShapes(spec).keys()]
  const weight_map = Object.fromEntries(names.map((name, i) => [name, `part-${i % 2}.safetensors`]))
  for (const part of [0, 1]) {
    folder.set(
      `part-${part}.safetensors`,
      await encoded(spec, (i) => i % 2 === part, part === 0 ? 'F16' : 'F32'),
    )
  }
  folder.set(
    'model.safetensors.index.json',
    Buffer.from(JSON.stringify({ metadata: { total_size: 1 }, weight_map })),
  )
  return folder
}

function smallFiles(config: object): Folder {
  const { tokenizer, config: tokenizerConfig } = asciiTokenizer()
  const json = (value: unknown) => Buffer.from(JSON.stringify(value))
  return new Map([
    ['config.json', json(config)],
    ['tokenizer.json', json(tokenizer)],
    ['tokenizer_config.json', json(tokenizerConfig)],
    ['generation_config.json', json({ eos_token_id: [2, 0] })],
  ])
}

async function encoded(
  spec: DecoderSpec,
  has: (index: number) => boolean,
  dtype: 'F32' | 'F16' | 'BF16',
): Promise<Buffer> {
  const tensors: Record<string, TensorSource> = {}
  for (const [i, [name, shape]] of [...parameterShapes(spec)].entries()) {
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(0.5)
    if (has(i)) tensors[name] = { shape, dtype, data }
  }
  const pieces: Uint8Array[] = []
  for await (const piece of encodeSafetensors({ tensors, metadata: { format: 'pt' } }).content)
    pieces.push(Uint8Array.from(piece))
  return Buffer.concat(pieces)
}
