// The tokens of a vocabulary by their bytes, so that all tokens with a start that is not allowed are ruled out at once.

import type { TokenBytes } from './grammar.ts'
import type { Position } from './positions.ts'

/** Nodes in the order of a walk that visits each before its children. */
export interface Trie {
  readonly vocabulary: number
  readonly byte: Uint8Array
  readonly depth: Uint16Array
  /** Index of the first node after all children. */
  readonly after: Int32Array
  /** The tokens of node n are those from tokenAt[n] up to tokenAt[n + 1]. */
  readonly tokenAt: Int32Array
  readonly tokens: Int32Array
}

export function trieOf({ bytes, ends }: TokenBytes): Trie {
  // Strings with a character per byte are compared faster than bytes, and in the same order.
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const texts = Array.from(ends, (end, token) => all.slice(token === 0 ? 0 : ends[token - 1]!, end))
  const tokens = Array.from(ends, (_, token) => token)
    .filter((token) => texts[token] !== '')
    .sort((a, b) => (texts[a]! < texts[b]! ? -1 : texts[a]! > texts[b]! ? 1 : a - b))
  const byte: number[] = []
  const depth: number[] = []
  const after: number[] = []
  /** The nodes of the token before, from its first byte to its last. */
  const path: number[] = []
  const close = (length: number): void => {
    while (path.length > length) after[path.pop()!] = byte.length
  }
  const counts: number[] = []
  let before = ''
  for (const token of tokens) {
    const text = texts[token]!
    let same = 0
    while (same < text.length && text[same] === before[same]) same += 1
    close(same)
    for (let at = same; at < text.length; at++) {
      depth.push(path.length)
      path.push(byte.length)
      byte.push(text.charCodeAt(at))
      counts.push(0)
    }
    counts[path.at(-1)!]! += 1
    before = text
  }
  close(0)
  const tokenAt = new Int32Array(byte.length + 1)
  for (const [node, count] of counts.entries()) tokenAt[node + 1] = tokenAt[node]! + count
  return {
    vocabulary: ends.length,
    byte: Uint8Array.from(byte),
    depth: Uint16Array.from(depth),
    after: Int32Array.from(after),
    tokenAt,
    tokens: Int32Array.from(tokens),
  }
}

/** Sets the bits of all tokens whose bytes are allowed from a position. */
export function allow(trie: Trie, from: Position, bits: Uint32Array): void {
  const { byte, depth, after, tokenAt, tokens } = trie
  const path: Position[] = [from]
  for (let node = 0; node < byte.length; ) {
    const next = path[depth[node]!]!.step(byte[node]!)
    if (!next) {
      node = after[node]!
      continue
    }
    path[depth[node]! + 1] = next
    for (let at = tokenAt[node]!; at < tokenAt[node + 1]!; at++) {
      const token = tokens[at]!
      bits[token >>> 5] = bits[token >>> 5]! | (1 << (token & 31))
    }
    node += 1
  }
}
