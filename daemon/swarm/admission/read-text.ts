// Encodes a peer's text in slices, so that other work can run in between, and stops at the limit: a text may be long,
// and most of it useless. A slice ends before a space, where tokenizers split anyway, so the tokens are those of the
// whole text. Only in a text with no space for a thousand characters may they differ at the cut. They always decode to
// the text.

import type { Finish } from '../../../protocol/train/index.ts'
import type { Codec } from '../types.ts'
import type { Reason } from './reasons.ts'

/** In characters. The worst text takes about 2 ms with the default model on a slow core. */
const SLICE = 1024

/** Yields between slices. `most` is the limit in tokens, including the one that ends the sequence. */
export function* readText(
  text: string,
  finish: Finish,
  { codec, most }: { codec: Codec; most: number },
): Generator<void, Int32Array | Reason> {
  const slices = slicesOf(text, codec)
  const read: Int32Array[] = []
  let length = 0
  for (const [i, slice] of slices.entries()) {
    if (i > 0) yield
    const tokens = codec.encodeCompletion(slice, i === slices.length - 1 ? finish : 'length')
    length += tokens.length
    if (length > most) return 'long'
    read.push(tokens)
  }
  const tokens = new Int32Array(length)
  let at = 0
  for (const part of read) {
    tokens.set(part, at)
    at += part.length
  }
  return codec.decodeCompletion(tokens) === text ? tokens : 'text'
}

/**
 * Whether a slice keeps the space at the cut. Some tokenizers put a space before every text that they encode; for these
 * the space is left out. Undefined if neither gives the tokens of the whole text.
 */
type Join = 'kept' | 'left out' | undefined

const joins = new WeakMap<Codec, { join: Join }>()

function joinOf(codec: Codec): Join {
  const known = joins.get(codec)
  if (known) return known.join
  const encode = (...texts: string[]): string =>
    texts.flatMap((text) => [...codec.encodeCompletion(text, 'length')]).join()
  const whole = encode('one two')
  const join =
    whole === encode('one', ' two') ? 'kept' : whole === encode('one', 'two') ? 'left out' : undefined
  joins.set(codec, { join })
  return join
}

function slicesOf(text: string, codec: Codec): string[] {
  const join = text.length > SLICE ? joinOf(codec) : undefined
  if (join === undefined) return [text]
  const slices: string[] = []
  let start = 0
  while (text.length - start > SLICE) {
    const from = start + SLICE / 2
    const offset = text.slice(from, join === 'kept' ? start + SLICE : undefined).search(/\S \S/)
    const space = from + offset + 1
    if (offset >= 0) {
      slices.push(text.slice(start, space))
      start = join === 'kept' ? space : space + 1
    } else if (join === 'kept') {
      const end = start + SLICE - (isLowSurrogate(text.charCodeAt(start + SLICE)) ? 1 : 0)
      slices.push(text.slice(start, end))
      start = end
    } else break
  }
  return [...slices, text.slice(start)]
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
