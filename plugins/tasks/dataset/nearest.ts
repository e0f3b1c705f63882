// Suggests the word that a misspelt one probably meant.

/** ` Did you mean "x"?`, or nothing if no known word is within two edits. */
export function nearest(word: unknown, known: readonly string[]): string {
  if (typeof word !== 'string' || word.length > 64) return ''
  const [best] = known
    .map((candidate) => ({ candidate, edits: distance(word, candidate) }))
    .filter(({ edits }) => edits <= 2)
    .sort((a, b) => a.edits - b.edits)
  return best ? ` Did you mean "${best.candidate}"?` : ''
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}
