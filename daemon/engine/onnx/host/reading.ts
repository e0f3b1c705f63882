// Reads prompts: whole, or only what follows a beginning whose keys and values are known.

import type { DecoderSpec } from '../../decoder.ts'
import { MASKED } from '../../decoding/cache-mask.ts'
import { buildSampling } from '../decoder/sampling.ts'
import type { Packing } from '../graph/ops.ts'
import type { CompiledGraph, Data, Feeds, Runtime } from '../runtime/runtime.ts'
import { type Piece, type Stretch, sharedLength, WORTHWHILE } from './kept.ts'
import { createPromptTable } from './prompt-table.ts'
import { copyPieces, cutRow, freeArrays, lengthOf, type Rows } from './rows.ts'

/** With more rows, repacking the weights is cheap beside the product, and transposing its result costs more. */
const FEW_ROWS = 48
/** Keys of the graphs without and with shared prompts. */
const [PLAIN, SHARING] = ['sampling', 'sampling shared'] as const

export interface ReadingParts {
  runtime: Runtime
  weights: Feeds
  /** How the graph holds quantized blocks; undefined if they are fed in every run. */
  packing: Packing | undefined
  /** Most tokens of one prompt read at once; by default as `piecesFor` says. */
  pieceTokens?: number
}

const PIECE_TOKENS = 1024
/** Most scores of a piece's attention, one for each head and pair of a token that is read and one before it. */
const PIECE_SCORES = 2 ** 24

/**
 * The sampling graph for matmuls of `rows` rows. With packed blocks there is one graph for all sizes: they are fast for
 * any number of rows, and each graph would hold a copy of them. So once prompts have been shared, the graph that takes
 * shared ones is used for all. Otherwise a small number of rows has a graph of its own (`weights-first.ts`), except for a
 * single row, whose matmul reads the weights in place anyway.
 */
export async function graphFor(
  { rows, isShared }: { rows: number; isShared: boolean },
  spec: DecoderSpec,
  { runtime, weights, packing }: ReadingParts,
): Promise<CompiledGraph> {
  if (packing && Object.values(spec.stored ?? {}).some(({ kind }) => kind === 'blocks')) {
    const isFor = isShared || runtime.has(SHARING)
    if (isFor) await runtime.drop(PLAIN)
    const build = () => buildSampling(spec, { hasPast: true, isShared: isFor, packing })
    return runtime.compile(isFor ? SHARING : PLAIN, build, { fixed: weights })
  }
  const hasFewRows = rows > 1 && rows <= FEW_ROWS
  const key = `${isShared ? SHARING : PLAIN}${hasFewRows ? ' few' : ''}`
  return runtime.compile(key, () => buildSampling(spec, { hasPast: true, isShared }), { hasFewRows })
}

interface Unread {
  tokens: Int32Array
  /** Keys and values of its beginning, as far as they are known; never of all its tokens. */
  past: readonly Piece[]
}

export interface Read {
  /** Logits after the last token. */
  logits: Float32Array
  /** Keys and values of the tokens after the past. */
  stretch: Stretch
}

/** Of conversations that begin alike, takes only the first: the others can then reuse what it has read. */
export function takeUnlike<Prompt extends Unread & { isConversation?: boolean }>(
  prompts: readonly Prompt[],
): Prompt[] {
  const taken: Prompt[] = []
  for (const prompt of prompts) {
    const { tokens, past, isConversation } = prompt
    const isKnownSoon = (other: Prompt): boolean =>
      other.isConversation === true && sharedLength(other.tokens, tokens) - lengthOf(past) >= WORTHWHILE
    if (!isConversation || !taken.some(isKnownSoon)) taken.push(prompt)
  }
  return taken
}

/** Reads the prompts with a past side by side, then those without, because their numbers of new tokens differ. */
export async function readPrompts(
  prompts: readonly Unread[],
  spec: DecoderSpec,
  parts: ReadingParts,
): Promise<Read[]> {
  const alike = Map.groupBy(prompts, ({ past }) => past.length > 0)
  const read = new Map<Unread, Read>()
  for (const some of alike.values()) {
    const done = await readAlike(some, spec, parts)
    some.forEach((prompt, i) => {
      read.set(prompt, done[i]!)
    })
  }
  return prompts.map((prompt) => read.get(prompt)!)
}

/** How many tokens of a prompt of this length are read at once. */
export function piecesFor(length: number, { heads }: Pick<DecoderSpec, 'heads'>): number {
  return Math.max(1, Math.min(PIECE_TOKENS, Math.floor(PIECE_SCORES / (heads * length))))
}

/**
 * Reads the beginning of a long prompt in pieces, up to the last one. Returns its past and what was read; undefined if
 * nobody wants it any more.
 */
export async function readBeginning(
  { tokens, past }: Unread,
  spec: DecoderSpec,
  { isWanted = () => true, ...parts }: ReadingParts & { isWanted?: (() => boolean) | undefined },
): Promise<readonly Piece[] | undefined> {
  const { pieceTokens = piecesFor(tokens.length, spec) } = parts
  let pieces = past
  for (let at = lengthOf(past); tokens.length - at > pieceTokens; at += pieceTokens) {
    if (!isWanted()) return undefined
    const piece = { tokens: tokens.subarray(0, at + pieceTokens), past: pieces }
    const [{ stretch }] = (await readAlike([piece], spec, parts)) as [Read]
    pieces = [...pieces, { stretch, used: stretch.length }]
  }
  return pieces
}

async function readAlike(
  prompts: readonly Unread[],
  spec: DecoderSpec,
  parts: ReadingParts,
): Promise<Read[]> {
  const { vocabulary, layers } = spec
  const { feeds, length } = packPrompts(prompts.map(({ tokens, past }) => ({ tokens, from: lengthOf(past) })))
  const pasts = prompts.map(({ past }) => past)
  const known = pastFeeds(pasts, length, spec)
  const graph = await graphFor({ rows: prompts.length * length, isShared: false }, spec, parts)
  const none = createPromptTable(spec, prompts.length)
  const sizes = { batch: prompts.length, length, past: known.past, ...none.sizes }
  const shared = none.feeds(new Int32Array(prompts.length))
  const out = await graph.run({ ...parts.weights, ...feeds, ...known.feeds, ...shared }, sizes)
  freeArrays(known.arrays)
  const layersOf = (name: string): Float32Array[] =>
    Array.from({ length: layers }, (_, layer) => out[`${name}.${layer}`]!)
  const rows: Rows = { capacity: length, keys: layersOf('newKeys'), values: layersOf('newValues') }
  return prompts.map(({ tokens, past }, row) => ({
    logits: out.logits!.slice(row * vocabulary, (row + 1) * vocabulary),
    stretch: cutRow(rows, row, [0, tokens.length - lengthOf(past)], spec),
  }))
}

/** The graph's inputs for the past of each prompt. */
function pastFeeds(
  pasts: readonly (readonly Piece[])[],
  length: number,
  spec: DecoderSpec,
): { feeds: Feeds; past: number; arrays: Float32Array[] } {
  const { layers, kvHeads, headWidth } = spec
  const lengths = pasts.map(lengthOf)
  const past = Math.max(...lengths)
  const make = (): Float32Array[] =>
    Array.from({ length: layers }, () => new Float32Array(pasts.length * kvHeads * past * headWidth))
  const rows: Rows = { capacity: past, keys: make(), values: make() }
  pasts.forEach((pieces, row) => {
    copyPieces(pieces, rows, row, spec)
  })
  const feeds: Feeds = { pastBias: pastBias(lengths, length) }
  if (spec.local) feeds.localPastBias = pastBias(lengths, length, spec.local.window)
  for (let layer = 0; layer < layers; layer++) {
    feeds[`keys.${layer}`] = rows.keys[layer]!
    feeds[`values.${layer}`] = rows.values[layer]!
  }
  return { feeds, past, arrays: [...rows.keys, ...rows.values] }
}

/** The graph's inputs for the prompts from token `from` on, padded at the end. */
export function packPrompts(prompts: readonly { tokens: Int32Array; from?: number }[]): {
  feeds: Record<string, Data>
  length: number
} {
  const length = Math.max(...prompts.map(({ tokens, from = 0 }) => tokens.length - from))
  const tokens = new Int32Array(prompts.length * length)
  const positions = new BigInt64Array(prompts.length * length)
  const last = new Int32Array(prompts.length)
  prompts.forEach((prompt, b) => {
    const { from = 0 } = prompt
    const fresh = prompt.tokens.length - from
    tokens.set(prompt.tokens.subarray(from), b * length)
    for (let i = 0; i < fresh; i++) positions[b * length + i] = BigInt(from + i)
    last[b] = b * length + fresh - 1
  })
  return { feeds: { tokens, positions, last }, length }
}

/**
 * Bias [prompts, length, past] of the new tokens' scores to the past. Prompt i has `pasts[i]` past tokens. With a
 * window, a token attends to only the last `window` - 1 tokens before it.
 */
function pastBias(pasts: readonly number[], length: number, window = Number.POSITIVE_INFINITY): Float32Array {
  const most = Math.max(...pasts)
  const bias = new Float32Array(pasts.length * length * most).fill(MASKED)
  pasts.forEach((past, row) => {
    for (let i = 0; i < length; i++) {
      const at = (row * length + i) * most
      const oldest = Math.max(0, past + i - window + 1)
      if (oldest < past) bias.fill(0, at + oldest, at + past)
    }
  })
  return bias
}
