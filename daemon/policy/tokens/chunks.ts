// Where two tokenizations of a text end together. Tokens are bytes here, not text: one may end within a character.

export interface CommonEnd {
  /** Tokens of the first up to this place, and of the second. */
  first: number
  second: number
}

/**
 * The places where a token of each ends after the same bytes, in order, as long as all bytes before are equal. Two such
 * places bound a chunk. A token without bytes belongs to the chunk that it begins.
 */
export function commonEnds(first: readonly Uint8Array[], second: readonly Uint8Array[]): CommonEnd[] {
  const [a, b] = [Buffer.concat(first), Buffer.concat(second)]
  let equal = 0
  while (equal < Math.min(a.length, b.length) && a[equal] === b[equal]) equal++
  const ends = endsOf(second)
  return [...endsOf(first)].flatMap(([end, tokens]) => {
    const others = ends.get(end)
    return end <= equal && others !== undefined ? [{ first: tokens, second: others }] : []
  })
}

/** Tokens up to each byte at which one ends. */
function endsOf(tokens: readonly Uint8Array[]): Map<number, number> {
  const ends = new Map<number, number>()
  let bytes = 0
  for (const [i, { length }] of tokens.entries()) {
    bytes += length
    if (length > 0) ends.set(bytes, i + 1)
  }
  return ends
}
