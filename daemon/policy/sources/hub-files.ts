// Chooses the files of a repository to download: those that a model needs and those that describe it, or a dataset's rows,
// by an allow-list of names with size limits. Never a script or a pickle, and for a model nothing in a subfolder.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'

export interface HubFile {
  name: string
  size: number
  /** The hash that the content must have. */
  hash: { kind: 'sha256' | 'git'; hex: string }
}

/** A file as the hub lists it; see ListFileEntry of @huggingface/hub. */
export interface ListedFile {
  type: string
  path: string
  size: number
  oid?: string
  lfs?: { oid: string; size: number }
}

const MB = 1024 * 1024
type Rules = ReadonlyArray<readonly [RegExp, number]>

const MODEL_FILES: Rules = [
  [
    /^(config|generation_config|tokenizer_config|special_tokens_map|added_tokens|chat_template)\.json$/,
    16 * MB,
  ],
  [/^(tokenizer|vocab)\.json$/, 128 * MB],
  [/^(merges\.txt|tokenizer\.model|chat_template\.jinja)$/, 128 * MB],
  [/^model\.safetensors\.index\.json$/, 100 * MB],
  [/^(README\.md|LICEN[CS]E(\.(md|txt))?|NOTICE(\.(md|txt))?)$/i, 4 * MB],
  [/^[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.safetensors$/, 64 * 1024 * MB],
]
/** Rows, in any folder. */
export const DATASET_FILES: Rules = [
  [
    /^([A-Za-z0-9_][A-Za-z0-9_.=,+ -]{0,200}\/){0,8}[A-Za-z0-9_][A-Za-z0-9_.=,+ -]{0,200}\.(parquet|jsonl|csv|tsv)$/,
    64 * 1024 * MB,
  ],
]
export const MAX_TOTAL_BYTES = 256 * 1024 * MB

/**
 * The files that may be fetched, small ones first. Which of the weights among them are needed is decided later. Throws
 * E_MODEL if a file exceeds its size limit.
 */
export function allowedFiles(listed: readonly ListedFile[], rules: Rules = MODEL_FILES): HubFile[] {
  const files = listed.flatMap((entry): HubFile[] => {
    if (entry?.type !== 'file' || typeof entry.path !== 'string') return []
    const rule = rules.find(([name]) => name.test(entry.path))
    if (!rule) return []
    const size = entry.lfs?.size ?? entry.size
    const hash = hashOf(entry)
    if (!Number.isSafeInteger(size) || size < 0 || !hash) {
      throw new WaggleError('E_MODEL', `the hub gives no size or hash for ${entry.path}`, {
        hint: 'The mirror that HF_ENDPOINT names may not speak the protocol of the hub.',
      })
    }
    if (size > rule[1]) {
      throw new WaggleError('E_MODEL', `${entry.path} has ${size} bytes, at most ${rule[1]} are fetched`, {
        hint: 'No published model of a size that trains here needs as much, and no dataset that is read here. Do not trust this one.',
      })
    }
    return [{ name: entry.path, size, hash }]
  })
  return files.sort((a, b) => a.size - b.size || (a.name < b.name ? -1 : 1))
}

/** Why a repository without safetensors cannot be used. */
export function noSafetensors(name: string, listed: readonly ListedFile[]): WaggleError {
  const pickle = listed.find(({ path }) => /\.(bin|pt|pth|ckpt)$/.test(String(path)))
  return new WaggleError('E_MODEL', `${name} has no model.safetensors`, {
    hint: pickle
      ? `Its ${safeText(pickle.path, { limit: 80, line: true })} is a pickle, which can run code when loaded. Look for a repository that has safetensors.`
      : 'Look for the repository of the model itself, in the format of transformers.',
  })
}

function hashOf({ oid, lfs }: ListedFile): HubFile['hash'] | undefined {
  if (lfs) return /^[0-9a-f]{64}$/.test(lfs.oid) ? { kind: 'sha256', hex: lfs.oid } : undefined
  return oid !== undefined && /^[0-9a-f]{40}$/.test(oid) ? { kind: 'git', hex: oid } : undefined
}
