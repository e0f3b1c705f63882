// Embeds texts without a model, for retrieval. Character n-grams are counted in 256 hashed, signed buckets; the
// counts are square-rooted and scaled to norm 1. Texts that share words and phrases come out similar, whatever
// they mean.

export const EMBEDDING_LENGTH = 256
const NGRAMS = [3, 4, 5] as const

/** Returns a vector of shape [256] and norm 1, or all zeros for a text without n-grams. */
export function embedText(text: string): Float32Array {
  const counts = new Float32Array(EMBEDDING_LENGTH)
  const plain = ` ${text.toLowerCase().replace(/\s+/g, ' ').trim()} `
  for (const n of NGRAMS) {
    for (let i = 0; i + n <= plain.length; i++) {
      const hash = fnv(plain, i, n)
      counts[hash % EMBEDDING_LENGTH]! += hash & 0x8000_0000 ? 1 : -1
    }
  }
  const damped = counts.map((count) => Math.sign(count) * Math.sqrt(Math.abs(count)))
  const norm = Math.hypot(...damped)
  return norm === 0 ? damped : damped.map((value) => value / norm)
}

/** Inner product of two vectors of equal length; for vectors of norm 1 this is the cosine. */
export function similarity(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

/** FNV-1a, 32 bits, unsigned, with a final mix so that high and low bits are both usable. */
function fnv(text: string, start: number, length: number): number {
  let hash = 0x811c_9dc5
  for (let i = start; i < start + length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x0100_0193)
  hash ^= hash >>> 15
  return Math.imul(hash, 0x2c1b_3c6d) >>> 0
}
