// Reads and parses the small files of a model folder in Hugging Face's layout: config, tokenizer, chat template,
// generation settings. Each has a size limit and must lie inside the folder, or inside the cache that contains the
// folder.

import { dirname, join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Blocks } from '../../engine/stored/stored.ts'
import { type Disk, errnoOf, explainErrno } from '../../store/disk.ts'
import { attempt, openInside } from '../safetensors/folder.ts'

export type JsonObject = Record<string, unknown>

export interface ModelFiles {
  config: JsonObject
  tokenizer: JsonObject
  tokenizerConfig: JsonObject
  specialTokens: JsonObject | undefined
  generation: JsonObject | undefined
  /** chat_template.jinja, which newer models have next to tokenizer_config.json. */
  chatTemplate: string | undefined
}

/** What is known of a tensor before it is read. */
export interface TensorFacts {
  readonly shape: readonly number[]
  /** True for F16 and BF16. */
  readonly isHalf?: boolean
  /** Set if the tensor is quantized; see `Blocks` in engine/stored. */
  readonly quantized?: {
    readonly bits: 4 | 8
    readonly group: 16 | 32
    readonly hasMinimums: boolean
    /** The file has exactly 8 bits per value, not some number between 4 and 8. */
    readonly isRound: boolean
  }
}

export interface ReadOptions {
  /** Index of the first value to read; 0 if left out. */
  at?: number
  /** Called with what was read, for the model's digest: F32 values, or the bytes of a quantized file. */
  heed?: (bytes: Uint8Array) => void
}

/** A model's tensors, under Hugging Face's names. */
export interface WeightSource {
  readonly tensors: ReadonlyMap<string, TensorFacts>
  /** With `to`, reads as many values as fit into it. */
  readFloat32(name: string, to?: Float32Array, options?: ReadOptions): Promise<Float32Array>
  /** Reads a quantized tensor as it is stored. */
  readBlocks?(name: string, options?: Pick<ReadOptions, 'heed'>): Promise<Blocks>
  close(): Promise<void>
}

export interface ModelSource {
  config(): Promise<JsonObject>
  /** Everything but the weights. */
  files(): Promise<ModelFiles>
  weights(): Promise<WeightSource>
  /** The small files that an export contains besides config.json, as pairs of name and content. */
  copies(): Promise<[string, string][]>
}

/** A tokenizer with 250,000 entries takes about 20 MB, the other files a few kB. */
const MAX_BYTES: Record<string, number> = { 'tokenizer.json': 128 * 1024 * 1024 }
const MAX_BYTES_OTHERWISE = 16 * 1024 * 1024
/** PEFT's, in the folder of an adapter. */
export const ADAPTER_CONFIG_FILE = 'adapter_config.json'
/** `models--org--name/snapshots/<commit>`, where links lead to `models--org--name/blobs`. */
const SNAPSHOT = /[\\/]models--[^\\/]+[\\/]snapshots[\\/][^\\/]+[\\/]?$/

/** The resolved folder that all files of the model must lie in. */
export async function rootOf(directory: string, disk: Disk): Promise<string> {
  const real = await attempt(directory, () => disk.realPath(directory))
  return SNAPSHOT.test(real) ? dirname(dirname(real)) : real
}

export async function readConfig(directory: string, disk: Disk): Promise<JsonObject> {
  return await readJson(directory, 'config.json', disk).catch(async (error) => {
    if (error instanceof Missing && (await disk.stat(join(directory, ADAPTER_CONFIG_FILE)))) {
      throw new WaggleError('E_MODEL', `${directory} holds an adapter, not a model`, {
        hint: 'Give the folder of a model. `waggle export model` writes one with the adapter merged into it.',
        cause: error,
      })
    }
    throw error
  })
}

/** Everything but the weights. */
export async function readModelFiles(directory: string, disk: Disk): Promise<ModelFiles> {
  const optional = (name: string) => ifThere(() => readJson(directory, name, disk))
  return {
    config: await readConfig(directory, disk),
    tokenizer: await readJson(directory, 'tokenizer.json', disk),
    // tokenizer.json is enough; other files must then provide what this one would.
    tokenizerConfig: (await optional('tokenizer_config.json')) ?? {},
    specialTokens: await optional('special_tokens_map.json'),
    generation: await optional('generation_config.json'),
    chatTemplate: await ifThere(() => readText(directory, 'chat_template.jinja', disk)),
  }
}

class Missing extends WaggleError {}

async function ifThere<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Missing) return undefined
    throw error
  }
}

async function readText(directory: string, name: string, disk: Disk): Promise<string> {
  const path = join(directory, name)
  try {
    await disk.realPath(path)
  } catch (cause) {
    const details = {
      hint: 'A model is a folder with config.json, tokenizer.json and model.safetensors. Set model.path to one, or to a name on the hub such as org/name.',
      cause,
    }
    const message = `${path} cannot be read: ${explainErrno(cause)}`
    throw errnoOf(cause) === 'ENOENT'
      ? new Missing('E_MODEL', message, details)
      : new WaggleError('E_MODEL', message, details)
  }
  const { file, size } = await openInside(path, await rootOf(directory, disk), disk)
  try {
    const most = MAX_BYTES[name] ?? MAX_BYTES_OTHERWISE
    if (size > most) {
      throw new WaggleError('E_MODEL', `${path} has ${size} bytes; that is no ${name}`, {
        hint: `At most ${most} are read. Download the model again.`,
      })
    }
    const bytes = new Uint8Array(size)
    const read = await attempt(name, () => file.read(bytes, 0))
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, read))
    } catch (cause) {
      throw broken(path, 'it is not UTF-8 text', cause)
    }
  } finally {
    await file.close()
  }
}

export async function readJson(directory: string, name: string, disk: Disk): Promise<JsonObject> {
  const text = await readText(directory, name, disk)
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new SyntaxError('it is not an object')
    return value as JsonObject
  } catch (cause) {
    throw broken(join(directory, name), (cause as Error).message, cause)
  }
}

function broken(path: string, reason: string, cause: unknown): WaggleError {
  const shown = safeText(reason, { limit: 120, line: true })
  return new WaggleError('E_MODEL', `${path} is not valid JSON: ${shown}`, {
    hint: 'The file may be truncated: copy or download the model again.',
    cause,
  })
}

/** Files of a model besides weights and config, which are copied unchanged when the model is exported. */
const COPYABLE = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'generation_config.json',
  'chat_template.jinja',
  'vocab.json',
  'merges.txt',
  'LICENSE',
  'LICENSE.md',
  'LICENSE.txt',
  'NOTICE',
]

export async function copyableFiles(directory: string, disk: Disk): Promise<[string, string][]> {
  const found: [string, string][] = []
  for (const name of COPYABLE) {
    const text = await ifThere(() => readText(directory, name, disk))
    if (text !== undefined) found.push([name, text])
  }
  return found
}
