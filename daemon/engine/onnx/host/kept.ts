// The KV cache of conversations, kept after an answer ends: the conversation's next prompt begins with the same tokens,
// so only the new ones are read. Prompts of other conversations that begin with the same tokens, such as the same
// instructions, use it too.
//
// A sequence is a list of stretches. Sequences with the same prompt share the prompt's stretch, and each turn of a
// conversation adds to the stretches of the earlier turns.

/** Keys and values of consecutive tokens: per layer [kvHeads, length, headWidth]. */
export interface Stretch {
  length: number
  keys: readonly Float32Array[]
  values: readonly Float32Array[]
}

/** The first `used` tokens of a stretch. */
export interface Piece {
  stretch: Stretch
  used: number
}

export interface KeptSequences {
  /** Keeps a sequence. The pieces hold the keys and values of its tokens, in order. */
  keep(tokens: Int32Array, pieces: readonly Piece[]): void
  /** The longest kept prefix of `tokens`, never including the last one; empty if too short to be worth using. */
  beginningOf(tokens: Int32Array): Piece[]
  /** Bytes kept now. */
  readonly bytes: number
  /** Must be called whenever the weights change, because the kept keys and values would be wrong. */
  clear(): void
}

/** Reading fewer tokens than this again costs almost nothing. */
export const WORTHWHILE = 32

interface Kept {
  tokens: Int32Array
  pieces: readonly Piece[]
}

/** Keeps at most `most` bytes. The least recently used sequences are dropped first. */
export function createKeptSequences({ most }: { most: number }): KeptSequences {
  /** The most recently used one is at the end. */
  let sequences: Kept[] = []
  /** For each kept stretch, the number of pieces that use it. */
  const users = new Map<Stretch, number>()
  let bytes = 0
  const count = ({ pieces }: Kept, change: 1 | -1): void => {
    for (const { stretch } of pieces) {
      const before = users.get(stretch) ?? 0
      const after = before + change
      if (after === 0) users.delete(stretch)
      else users.set(stretch, after)
      if (before === 0 || after === 0) bytes += change * bytesOf(stretch)
    }
  }
  return {
    keep(tokens, pieces) {
      const added = { tokens, pieces }
      count(added, 1)
      sequences = sequences.filter((one) => {
        const isBeginning = sharedLength(one.tokens, tokens) === one.tokens.length
        if (isBeginning) count(one, -1)
        return !isBeginning
      })
      sequences.push(added)
      while (bytes > most) count(sequences.shift()!, -1)
    },

    beginningOf(tokens) {
      const most = tokens.length - 1
      let [best, length]: [Kept | undefined, number] = [undefined, WORTHWHILE - 1]
      for (const one of sequences) {
        const found = Math.min(most, sharedLength(one.tokens, tokens))
        if (found > length) [best, length] = [one, found]
      }
      if (!best) return []
      sequences.push(...sequences.splice(sequences.indexOf(best), 1))
      return beginning(best.pieces, length)
    },

    get bytes() {
      return bytes
    },

    clear() {
      sequences = []
      users.clear()
      bytes = 0
    },
  }
}

function bytesOf({ keys, values }: Stretch): number {
  return [...keys, ...values].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** Number of tokens that both begin with. */
export function sharedLength(a: Int32Array, b: Int32Array): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

function beginning(pieces: readonly Piece[], length: number): Piece[] {
  const found: Piece[] = []
  let left = length
  for (const { stretch, used } of pieces) {
    if (left === 0) break
    found.push({ stretch, used: Math.min(used, left) })
    left -= found.at(-1)!.used
  }
  return found
}
