// Random numbers for sampling: a pure function of (sequence seed, token index). So a sequence's tokens do not depend on
// other sequences, and a sequence can be continued from any token.

/** Uniform in [0, 1) with 32 bits. The mixing is that of MurmurHash3's finalizer, twice. */
export function uniformAt(seed: number, index: number): number {
  let h = (seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0
  for (let round = 0; round < 2; round++) {
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    h = (h ^ (h >>> 16)) >>> 0
    h = (h + 0x6d2b79f5) >>> 0
  }
  return h / 2 ** 32
}
