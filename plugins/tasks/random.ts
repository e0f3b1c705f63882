// Reproducible random integers for generators, so that a seed gives the same item on every machine.
//
// A text is hashed to 64 bits (FNV-1a, finished with SplitMix64's mixer, since FNV's low bits are weak), SplitMix64
// expands this to 128 bits of state, and xoshiro128** draws from it. Not suitable for secrets, since anyone can
// reproduce it. Sources: Fowler-Noll-Vo 1a; Steele, Lea and Flood 2014; Blackman and Vigna 2018.

const MASK_64 = (1n << 64n) - 1n
const encoder = new TextEncoder()

export function fnv1a64(text: string): bigint {
  // Computed in two halves, since BigInts would make hashing the slowest part of drawing. The prime is 2^40 + 0x1b3.
  let [high, low] = [0xcbf29ce4, 0x84222325]
  for (const byte of encoder.encode(text)) {
    low = (low ^ byte) >>> 0
    const product = low * 0x1b3
    high = (high * 0x1b3 + Math.floor(product / 2 ** 32) + ((low << 8) >>> 0)) % 2 ** 32
    low = product % 2 ** 32
  }
  return (BigInt(high) << 32n) | BigInt(low)
}

/** Yields SplitMix64's stream for a 64-bit seed. */
export function splitMix64(seed: bigint): () => bigint {
  let state = seed
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & MASK_64
    return mix(state)
  }
}

function mix(value: bigint): bigint {
  let z = value
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK_64
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK_64
  return z ^ (z >> 31n)
}

export function hash64(text: string): bigint {
  return mix(fnv1a64(text))
}

/** xoshiro128**: unsigned 32-bit numbers from four words of state, not all zero. */
export function xoshiro128(state: readonly [number, number, number, number]): () => number {
  let [a, b, c, d] = state
  return () => {
    const product = Math.imul(b, 5)
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return result
  }
}

/** Draws integers; every method is unbiased. */
export interface Dice {
  /** 0 to n - 1, for n from 1 to 2^32. */
  below(n: number): number
  /** Both ends included. */
  between(low: number, high: number): number
  /** True once in n. */
  oneIn(n: number): boolean
  pick<T>(from: readonly T[]): T
  shuffle<T>(items: readonly T[]): T[]
}

export function diceFor(name: string): Dice {
  const words = splitMix64(hash64(name))
  const [first, second] = [words(), words()]
  const low = (word: bigint): number => Number(word & 0xffff_ffffn)
  // An all-zero state would be stuck. Setting one bit prevents that, and the bias is irrelevant.
  const next = xoshiro128([low(first) | 1, low(first >> 32n), low(second), low(second >> 32n)])
  const below = (n: number): number => {
    const limit = 2 ** 32 - (2 ** 32 % n)
    let drawn = next()
    while (drawn >= limit) drawn = next()
    return drawn % n
  }
  return {
    below,
    between: (lowest, highest) => lowest + below(highest - lowest + 1),
    oneIn: (n) => below(n) === 0,
    pick: (from) => from[below(from.length)]!,
    shuffle(items) {
      const copy = [...items]
      for (let i = copy.length - 1; i > 0; i--) {
        const j = below(i + 1)
        const held = copy[i]!
        copy[i] = copy[j]!
        copy[j] = held
      }
      return copy
    },
  }
}
