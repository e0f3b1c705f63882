// A model on disk in Hugging Face's layout: config.json, model.safetensors (or shards), tokenizer.json,
// tokenizer_config.json and, if present, generation_config.json. Reads it whole; names every defect.

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { type DecoderSpec, parameterShapes, type Weights } from '../engine/decoder.ts'
import { type Disk, errnoOf, explainErrno } from '../store/disk.ts'
import { specOf } from './architectures/index.ts'
import { openWeights } from './safetensors.ts'
import { createTokenizer, type Tokenizer } from './tokenizer.ts'

export interface Model {
  directory: string
  spec: DecoderSpec
  weights: Weights
  tokenizer: Tokenizer
  /** SHA-256 over the decoder's description and the weights, 64 hex digits: the root of a policy's lineage. */
  digest: string
  /** The files as parsed, for writing the model back. */
  files: ModelFiles
}

export interface ModelFiles {
  config: Record<string, unknown>
  tokenizer: Record<string, unknown>
  tokenizerConfig: Record<string, unknown>
  generation: Record<string, unknown> | undefined
}

/** The largest JSON file read: tokenizers of 250 k entries have about 20 MB. */
const MAX_JSON_BYTES = 128 * 1024 * 1024

export async function loadModel(directory: string, { disk }: { disk: Disk }): Promise<Model> {
  const files = await readFiles(directory, disk)
  const spec = specOf(files.config)
  const tokenizer = createTokenizer({
    tokenizer: files.tokenizer,
    config: files.tokenizerConfig,
    generation: files.generation ?? files.config,
  })
  const weights = await readWeights(directory, spec, disk)
  return { directory, spec, weights, tokenizer, digest: digestOf(spec, weights), files }
}

async function readFiles(directory: string, disk: Disk): Promise<ModelFiles> {
  const config = await readJson(directory, 'config.json', disk)
  const tokenizer = await readJson(directory, 'tokenizer.json', disk)
  const tokenizerConfig = await readJson(directory, 'tokenizer_config.json', disk)
  const generation = await readJson(directory, 'generation_config.json', disk, true)
  return { config: config!, tokenizer: tokenizer!, tokenizerConfig: tokenizerConfig!, generation }
}

async function readWeights(directory: string, spec: DecoderSpec, disk: Disk): Promise<Weights> {
  const source = await openWeights({ path: directory }, { disk })
  try {
    const weights: Weights = {}
    for (const [name, shape] of parameterShapes(spec)) {
      const info = source.tensors.get(name)
      if (info && info.shape.join() !== shape.join()) {
        throw new WaggleError(
          'E_MODEL',
          `tensor "${name}" has shape [${info.shape}], config.json asks for [${shape}]`,
          {
            hint: 'config.json and the weights do not belong together.',
          },
        )
      }
      weights[name] = await source.readFloat32(name)
    }
    return weights
  } finally {
    await source.close()
  }
}

export function digestOf(spec: DecoderSpec, weights: Weights): string {
  const hash = createHash('sha256').update(JSON.stringify(spec))
  for (const name of parameterShapes(spec).keys()) {
    const { buffer, byteOffset, byteLength } = weights[name]!
    hash.update(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return hash.digest('hex')
}

async function readJson(
  directory: string,
  name: string,
  disk: Disk,
  optional = false,
): Promise<Record<string, unknown> | undefined> {
  const path = join(directory, name)
  let text: string
  try {
    const file = await disk.open(await disk.realPath(path), 'read')
    try {
      const size = (await disk.stat(await disk.realPath(path)))?.size ?? 0
      if (size > MAX_JSON_BYTES)
        throw new WaggleError('E_MODEL', `${path} has ${size} bytes; that is no ${name}`)
      const bytes = new Uint8Array(size)
      const read = await file.read(bytes, 0)
      text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, read))
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    if (optional && errnoOf(cause) === 'ENOENT') return undefined
    throw new WaggleError('E_MODEL', `${path} cannot be read: ${explainErrno(cause)}`, {
      hint: 'A model is a folder with config.json, tokenizer.json, tokenizer_config.json and model.safetensors. Set model.path to one.',
      cause,
    })
  }
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new SyntaxError('it is not an object')
    return value as Record<string, unknown>
  } catch (cause) {
    throw new WaggleError('E_MODEL', `${path} is not valid JSON: ${(cause as Error).message}`, {
      hint: 'The file may be truncated: copy or download the model again.',
      cause,
    })
  }
}
