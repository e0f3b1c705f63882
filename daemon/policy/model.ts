// Loads a model: a folder in Hugging Face's layout (config.json, model.safetensors or shards, tokenizer.json and
// optional files), or a GGUF file. Every defect gets its own error. Weights are read straight into their arrays.

import { createHash } from 'node:crypto'
import { WaggleError } from '../../protocol/errors.ts'
import { type DecoderSpec, parameterShapes, type Weights } from '../engine/decoder.ts'
import type { Disk } from '../store/disk.ts'
import { specOf } from './architectures/index.ts'
import type { ModelFiles, ModelSource } from './model-files.ts'
import { modelSource } from './model-source.ts'
import { createTokenizer, type Tokenizer, vocabularyOf } from './tokenizer.ts'

export type { ModelFiles } from './model-files.ts'

/** The decoder without its tokenizer. */
export interface Decoder {
  /** The folder, or the GGUF file. */
  directory: string
  spec: DecoderSpec
  weights: Weights
  /**
   * SHA-256 over the decoder's description and the weights, 64 hex digits: the root of a policy's lineage.
   */
  digest: string
  /** SHA-256 over the decoder's description, 64 hex digits: models of one architecture and size share it. */
  architecture: string
}

export interface Model extends Decoder {
  tokenizer: Tokenizer
  /** The files as parsed, for writing the model back. */
  files: ModelFiles
}

/** `beforeWeights` gets everything but the weights before they are read, and may throw. */
export async function loadModel(
  directory: string,
  { disk }: { disk: Disk },
  beforeWeights: (known: Pick<Model, 'spec' | 'tokenizer'>) => void = () => {},
): Promise<Model> {
  const source = await modelSource(directory, { disk })
  const files = await source.files()
  const { spec, tokenizer } = textModelOf(files)
  beforeWeights({ spec, tokenizer })
  return { ...(await decoderOf(directory, spec, source)), tokenizer, files }
}

/** Needs config.json and weights only. */
export async function loadDecoder(directory: string, { disk }: { disk: Disk }): Promise<Decoder> {
  const source = await modelSource(directory, { disk })
  return await decoderOf(directory, specOf(await source.config()), source)
}

/** The spec and the tokenizer. Throws E_MODEL if the tokenizer has ids that the decoder lacks. */
export function textModelOf(files: ModelFiles): Pick<Model, 'spec' | 'tokenizer'> {
  const spec = specOf(files.config)
  const tokens = vocabularyOf(files.tokenizer)
  if (tokens > spec.vocabulary) {
    throw new WaggleError(
      'E_MODEL',
      `tokenizer.json has token ids up to ${tokens - 1}, and the model of config.json only those below ${spec.vocabulary}`,
      {
        hint: 'The tokenizer and the weights do not belong together: copy both from the same model. Where tokens were added, the embeddings have to be resized, too.',
      },
    )
  }
  return { spec, tokenizer: tokenizerOf(files) }
}

export function tokenizerOf(files: ModelFiles): Tokenizer {
  return createTokenizer({
    tokenizer: files.tokenizer,
    config: files.tokenizerConfig,
    generation: [files.generation, files.config],
    specialTokens: files.specialTokens,
    chatTemplate: files.chatTemplate,
  })
}

async function decoderOf(directory: string, spec: DecoderSpec, from: ModelSource): Promise<Decoder> {
  const weights = await readWeights(from, spec)
  return { directory, spec, weights, digest: digestOf(spec, weights), architecture: architectureDigest(spec) }
}

async function readWeights(from: ModelSource, spec: DecoderSpec): Promise<Weights> {
  const source = await from.weights()
  try {
    // Check all shapes before allocating anything.
    for (const [name, shape] of parameterShapes(spec)) {
      const info = source.tensors.get(name)
      if (info && info.shape.join() !== shape.join()) {
        throw new WaggleError(
          'E_MODEL',
          `tensor "${name}" has shape [${info.shape}], config.json asks for [${shape}]`,
          { hint: 'config.json and the weights do not belong together.' },
        )
      }
    }
    const weights: Weights = {}
    for (const [name, shape] of parameterShapes(spec)) {
      // The reader reports a missing tensor before allocating memory for it.
      const into = source.tensors.has(name) ? sharedFloats(shape) : undefined
      weights[name] = await source.readFloat32(name, into)
    }
    return weights
  } finally {
    await source.close()
  }
}

/** In shared memory, so that engine threads use frozen weights without copies. */
function sharedFloats(shape: readonly number[]): Float32Array {
  return new Float32Array(new SharedArrayBuffer(shape.reduce((a, b) => a * b, 1) * 4))
}

export function architectureDigest(spec: DecoderSpec): string {
  return createHash('sha256').update(JSON.stringify(spec)).digest('hex')
}

export function digestOf(spec: DecoderSpec, weights: Weights): string {
  const hash = createHash('sha256').update(JSON.stringify(spec))
  for (const name of parameterShapes(spec).keys()) {
    const { buffer, byteOffset, byteLength } = weights[name]!
    hash.update(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return hash.digest('hex')
}
