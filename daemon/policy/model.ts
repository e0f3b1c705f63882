// Loads a model: a folder in Hugging Face's layout (config.json, model.safetensors or shards, tokenizer.json and
// optional files), or a GGUF file. Each defect has its own error. Weights are read straight into their arrays.

import { createHash } from 'node:crypto'
import { WaggleError } from '../../protocol/errors.ts'
import type { DecoderSpec } from '../engine/decoder.ts'
import type { BaseWeights } from '../engine/stored/stored.ts'
import type { Weights } from '../engine/weights.ts'
import type { Disk } from '../store/disk.ts'
import { specOf } from './architectures/index.ts'
import { type BasePrecision, readWeights } from './files/base-weights.ts'
import type { ModelFiles, ModelSource, WeightSource } from './files/model-files.ts'
import { modelSource } from './files/model-source.ts'
import { createTokenizer, type Tokenizer, vocabularyOf } from './tokens/tokenizer.ts'

export type { ModelFiles } from './files/model-files.ts'

/** A decoder, without a tokenizer. */
export interface Decoder<Held extends BaseWeights = Weights> {
  /** The folder, or the GGUF file. */
  directory: string
  spec: DecoderSpec
  weights: Held
  /**
   * SHA-256 over the decoder's description and the weights, 64 hex digits: the root of a policy's lineage.
   */
  digest: string
  /** SHA-256 over the decoder's description, 64 hex digits: models of one architecture and size share it. */
  architecture: string
}

export interface Model<Held extends BaseWeights = Weights> extends Decoder<Held> {
  tokenizer: Tokenizer
  /** The files as parsed, needed to write the model back. */
  files: ModelFiles
}

/** A model whose frozen matrices may be quantized. */
export type StoredModel = Model<BaseWeights>

export interface BeforeWeights extends Pick<Model, 'spec' | 'tokenizer'> {
  tensors: WeightSource['tensors']
}

/**
 * Loads a model. `beforeWeights` gets what is known before the weights are read. It returns how frozen matrices are to
 * be kept, or throws.
 */
export async function loadModelAs(
  directory: string,
  { disk }: { disk: Disk },
  beforeWeights: (known: BeforeWeights) => BasePrecision,
): Promise<StoredModel> {
  const source = await modelSource(directory, { disk })
  const files = await source.files()
  const { spec, tokenizer } = textModelOf(files)
  return await withWeights(source, async (weights) => {
    const precision = beforeWeights({ spec, tokenizer, tensors: weights.tensors })
    return { ...(await decoderOf(directory, spec, weights, precision)), tokenizer, files }
  })
}

/** What is known before the weights are read. Throws E_MODEL as loading does. */
export async function describeModel(
  directory: string,
  { disk }: { disk: Disk },
): Promise<BeforeWeights & Pick<Model, 'files'>> {
  const source = await modelSource(directory, { disk })
  const files = await source.files()
  const known = textModelOf(files)
  return withWeights(source, async ({ tensors }) => ({ ...known, files, tensors }))
}

export async function loadModel(directory: string, parts: { disk: Disk }): Promise<Model> {
  return (await loadModelAs(directory, parts, () => 'f32')) as Model
}

/** Needs config.json and weights only. */
export async function loadDecoder(directory: string, parts: { disk: Disk }): Promise<Decoder> {
  return (await loadDecoderAs(directory, parts, 'f32')) as Decoder
}

export async function loadDecoderAs(
  directory: string,
  { disk }: { disk: Disk },
  precision: BasePrecision,
): Promise<Decoder<BaseWeights>> {
  const source = await modelSource(directory, { disk })
  const spec = specOf(await source.config())
  return await withWeights(source, (weights) => decoderOf(directory, spec, weights, precision))
}

async function withWeights<Result>(
  source: ModelSource,
  use: (weights: WeightSource) => Promise<Result>,
): Promise<Result> {
  const weights = await source.weights()
  try {
    return await use(weights)
  } finally {
    await weights.close()
  }
}

/** The spec and the tokenizer. Throws E_MODEL if the tokenizer has ids that the decoder does not have. */
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

function tokenizerOf(files: ModelFiles): Tokenizer {
  return createTokenizer({
    tokenizer: files.tokenizer,
    config: files.tokenizerConfig,
    generation: [files.generation, files.config],
    specialTokens: files.specialTokens,
    chatTemplate: files.chatTemplate,
  })
}

async function decoderOf(
  directory: string,
  spec: DecoderSpec,
  from: WeightSource,
  precision: BasePrecision,
): Promise<Decoder<BaseWeights>> {
  const { weights, digest } = await readWeights(from, spec, precision)
  return { directory, spec, weights, digest, architecture: architectureDigest(spec) }
}

function architectureDigest(spec: DecoderSpec): string {
  return createHash('sha256').update(JSON.stringify(spec)).digest('hex')
}
