// Reads a completion token by token: the bytes of each token, and the text so far. A character may have several tokens,
// so text waits until its characters are complete.

import type { JsonObject } from '../files/model-files.ts'

export interface TokenReader {
  /** Returns the token's own bytes; none for special tokens. Joined, the bytes of all tokens are the text's UTF-8. */
  read(token: number): Uint8Array
  /** The text so far, without a character whose last bytes are missing. */
  readonly text: string
  /** The whole text, if nothing follows. U+FFFD stands for bytes that are no character. */
  end(): string
}

interface ReaderParts {
  /** The bytes of a token that may be a part of a character; undefined for tokens that are text. */
  bytesOf(token: number): Uint8Array | undefined
  /** True for tokens that are not in the text. */
  isLeftOut(token: number): boolean
  decode(tokens: number[]): string
}

/** Tokens before a token, by which a decoder may choose its text. */
const LOOK_BACK = 3

export function createTokenReader({ bytesOf, isLeftOut, decode }: ReaderParts): TokenReader {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  const encoder = new TextEncoder()
  let last: number[] = []
  let text = ''
  const end = (): string => {
    text += utf8.decode()
    return text
  }
  const textOf = (token: number): string => decode([...last, token]).slice(decode(last).length)
  return {
    read(token) {
      if (isLeftOut(token)) return new Uint8Array()
      const bytes = bytesOf(token)
      if (bytes) text += utf8.decode(bytes, { stream: true })
      const piece = bytes ? '' : textOf(token)
      if (!bytes) text = end() + piece
      last = [...last.slice(1 - LOOK_BACK), token]
      return bytes ?? encoder.encode(piece)
    },
    get text() {
      return text
    },
    end,
  }
}

/** Returns the bytes of a piece of the vocabulary; undefined if the decoder takes the piece as text. */
export function byteReader(decoder: unknown): (piece: string) => Uint8Array | undefined {
  const kinds = kindsOf(decoder)
  if (kinds.includes('ByteLevel')) return byteLevel
  return kinds.includes('ByteFallback') ? byteFallback : () => undefined
}

function kindsOf(decoder: unknown): unknown[] {
  const { type, decoders } = (decoder ?? {}) as JsonObject
  return type === 'Sequence' && Array.isArray(decoders) ? decoders.flatMap(kindsOf) : [type]
}

/** GPT-2's: each character stands for a byte. Bytes that are no visible character of Latin-1 follow from U+0100 on. */
function byteLevel(piece: string): Uint8Array {
  // The decoder takes any other character for byte 0.
  return Uint8Array.from(piece, (char) => BYTES.get(char) ?? 0)
}

const BYTES = (() => {
  const all = Array.from({ length: 256 }, (_, byte) => byte)
  const isVisible = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte !== 0xad)
  let next = 0x100
  return new Map(all.map((byte) => [String.fromCodePoint(isVisible(byte) ? byte : next++), byte]))
})()

/** SentencePiece's: characters without a token of their own are tokens such as <0xE2>, one for each byte. Bytes of ASCII are text. */
function byteFallback(piece: string): Uint8Array | undefined {
  const [, digits] = /^<0x([89A-Fa-f][0-9A-Fa-f])>$/.exec(piece) ?? []
  return digits === undefined ? undefined : Uint8Array.of(Number.parseInt(digits, 16))
}
