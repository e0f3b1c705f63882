// Which tokens a grammar allows next, for every engine: one `Masks` per opened model, one `Mask` per sequence.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Grammar, TokenBytes } from './grammar.ts'
import { type Position, startOf } from './positions.ts'
import { allow, type Trie, trieOf } from './trie.ts'

/** Follows one sequence. */
export interface Mask {
  /** One bit per token, of those allowed next. Stop tokens are, wherever the answer may end. */
  allowed(): Uint32Array
  /** Takes the next token. */
  take(token: number): void
}

export interface Masks {
  of(grammar: Grammar, stopTokens: readonly number[]): Mask
}

/** Grammars whose positions are remembered, and bytes of masks of them all. */
const MAX_GRAMMARS = 8
const MAX_BYTES = 32e6

interface Known {
  start: Position
  bits: Map<Position, Uint32Array>
}

/** `tokenBytes` is missing in engines that were opened without it. */
export function createMasks(tokenBytes: TokenBytes | undefined): Masks {
  const known = new Map<string, Known>()
  let trie: Trie | undefined
  let held = 0

  const knownOf = (grammar: Grammar): Known => {
    const found = known.get(grammar.key) ?? { start: startOf(grammar), bits: new Map() }
    // The latest is last.
    known.delete(grammar.key)
    known.set(grammar.key, found)
    if (known.size > MAX_GRAMMARS) known.delete(known.keys().next().value!)
    return found
  }

  return {
    of(grammar, stopTokens) {
      if (!tokenBytes)
        throw new WaggleError('E_ENGINE', 'the engine was opened without the bytes of its tokens')
      const ofAll = trie ?? trieOf(tokenBytes)
      trie = ofAll
      const { start, bits } = knownOf(grammar)
      const textOf = (token: number): Uint8Array =>
        tokenBytes.bytes.subarray(token === 0 ? 0 : tokenBytes.ends[token - 1]!, tokenBytes.ends[token]!)
      let position = start
      return {
        allowed() {
          const old = bits.get(position)
          if (old) return old
          const made = new Uint32Array(Math.ceil(ofAll.vocabulary / 32))
          allow(ofAll, position, made)
          if (position.accepts)
            for (const stop of stopTokens) made[stop >>> 5] = made[stop >>> 5]! | (1 << (stop & 31))
          if (made.every((word) => word === 0)) throw noToken()
          held += made.byteLength
          if (held > MAX_BYTES) {
            for (const one of known.values()) one.bits.clear()
            held = made.byteLength
          }
          bits.set(position, made)
          return made
        },
        take(token) {
          for (const byte of textOf(token)) position = position.step(byte) ?? position
        },
      }
    },
  }
}

function noToken(): WaggleError {
  return new WaggleError('E_ENGINE', 'no token of the model continues the form that the answer must have', {
    hint: "The form needs characters that are not in the model's vocabulary.",
  })
}
