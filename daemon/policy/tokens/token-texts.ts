// What each token of a vocabulary stands for on its own: as text, and as bytes.

import type { TokenBytes } from '../../engine/grammar/grammar.ts'

interface TokenTextsParts {
  isSpecial(token: number): boolean
  /** The bytes of a token that may be a part of a character; undefined for tokens that are text. */
  bytesOf(token: number): Uint8Array | undefined
  decode(tokens: number[]): string
}

export interface TokenTexts {
  /** The text of each of the first `vocabulary` ids; empty for special tokens. */
  pieces(vocabulary: number): string[]
  /** The bytes of each of the first `vocabulary` ids; none for special tokens. */
  tokenBytes(vocabulary: number): TokenBytes
}

export function createTokenTexts({ isSpecial, bytesOf, decode }: TokenTextsParts): TokenTexts {
  const pieces = (vocabulary: number): string[] => {
    const ids = Array.from({ length: vocabulary }, (_, token) => token)
    // Decode each token after another one, because some decoders strip a leading space.
    const anchor = ids.find((token) => !isSpecial(token) && /^\w+$/.test(decode([token])))
    const before = anchor === undefined ? [] : [anchor]
    const { length } = decode(before)
    return ids.map((token) => (isSpecial(token) ? '' : decode([...before, token]).slice(length)))
  }
  return {
    pieces,
    tokenBytes(vocabulary) {
      const own = Array.from({ length: vocabulary }, (_, token) =>
        isSpecial(token) ? new Uint8Array() : bytesOf(token),
      )
      // Tokens that are text are read as the decoder reads them.
      const texts = own.includes(undefined) ? pieces(vocabulary) : []
      return joined(own.map((bytes, token) => bytes ?? new TextEncoder().encode(texts[token])))
    },
  }
}

function joined(texts: readonly Uint8Array[]): TokenBytes {
  let end = 0
  const ends = Int32Array.from(texts, ({ length }) => {
    end += length
    return end
  })
  return { bytes: new Uint8Array(Buffer.concat(texts)), ends }
}
