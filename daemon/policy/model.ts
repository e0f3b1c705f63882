// A model on disk in Hugging Face's layout: config.json, model.safetensors (or shards), tokenizer.json and, if present,
// what goes with them. Reads it whole; names every defect. Weights are read straight into the arrays that hold them.

import { createHash } from 'node:crypto'
import { WaggleError } from '../../protocol/errors.ts'
import { type DecoderSpec, parameterShapes, type Weights } from '../engine/decoder.ts'
import type { Disk } from '../store/disk.ts'
import { specOf } from './architectures/index.ts'
import { type ModelFiles, readConfig, readModelFiles, rootOf } from './model-files.ts'
import { openWeights } from './safetensors.ts'
import { createTokenizer, type Tokenizer } from './tokenizer.ts'

export type { ModelFiles } from './model-files.ts'

/** What computes, without what is needed for text. */
export interface Decoder {
  directory: string
  spec: DecoderSpec
  weights: Weights
  /** SHA-256 over the decoder's description and the weights, 64 hex digits: the root of a policy's lineage. */
  digest: string
  /** SHA-256 over the decoder's description, 64 hex digits: models of one architecture and size share it. */
  architecture: string
}

export interface Model extends Decoder {
  tokenizer: Tokenizer
  /** The files as parsed, for writing the model back. */
  files: ModelFiles
}

/** `beforeWeights` may look at what is known before the weights are read, and throw. */
export async function loadModel(
  directory: string,
  { disk }: { disk: Disk },
  beforeWeights: (known: Pick<Model, 'spec' | 'tokenizer'>) => void = () => {},
): Promise<Model> {
  const files = await readModelFiles(directory, disk)
  const spec = specOf(files.config)
  const tokenizer = tokenizerOf(files)
  beforeWeights({ spec, tokenizer })
  return { ...(await decoderOf(directory, spec, disk)), tokenizer, files }
}

/** Needs config.json and weights only. */
export async function loadDecoder(directory: string, { disk }: { disk: Disk }): Promise<Decoder> {
  return await decoderOf(directory, specOf(await readConfig(directory, disk)), disk)
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

async function decoderOf(directory: string, spec: DecoderSpec, disk: Disk): Promise<Decoder> {
  const weights = await readWeights(directory, spec, disk)
  return { directory, spec, weights, digest: digestOf(spec, weights), architecture: architectureDigest(spec) }
}

async function readWeights(directory: string, spec: DecoderSpec, disk: Disk): Promise<Weights> {
  const source = await openWeights({ path: directory, within: await rootOf(directory, disk) }, { disk })
  try {
    // All shapes first: nothing is allocated for a model that does not fit together.
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
      // A tensor that is missing is named by the reader, before memory is taken for it.
      const into = source.tensors.has(name) ? sharedFloats(shape) : undefined
      weights[name] = await source.readFloat32(name, into)
    }
    return weights
  } finally {
    await source.close()
  }
}

/** In memory that threads share: engines use frozen weights where they are, and no copy travels to their threads. */
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
