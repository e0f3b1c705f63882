// Whether two texts are the same advice: the share of characters in matching blocks, or of words in common.
//
// SLEA-RL (arXiv 2603.18079) takes Python's SequenceMatcher on the first 300 characters, or the Jaccard index of words, and
// calls texts alike above 0.85. Matching blocks: the longest common run (the first one in `a`, then in `b`), and the same
// left and right of it (Ratcliff and Obershelp); without SequenceMatcher's shortcut for characters that are frequent.

const SEEN = 300
export const ALIKE = 0.85

export function areAlike(a: string, b: string): boolean {
  const [left, right] = [a.slice(0, SEEN), b.slice(0, SEEN)]
  return wordJaccard(a, b) > ALIKE || (mostRatio(left, right) > ALIKE && matchRatio(left, right) > ALIKE)
}

/** 2 matches / (length of both); 1 for two empty texts. */
export function matchRatio(a: string, b: string): number {
  if (a.length + b.length === 0) return 1
  let matches = 0
  const open: Array<[number, number, number, number]> = [[0, a.length, 0, b.length]]
  for (let range = open.pop(); range; range = open.pop()) {
    const [aFrom, aTo, bFrom, bTo] = range
    const [atA, atB, length] = longestRun(a, b, range)
    if (length === 0) continue
    matches += length
    open.push([aFrom, atA, bFrom, atB], [atA + length, aTo, atB + length, bTo])
  }
  return (2 * matches) / (a.length + b.length)
}

function longestRun(
  a: string,
  b: string,
  [aFrom, aTo, bFrom, bTo]: [number, number, number, number],
): [number, number, number] {
  let best: [number, number, number] = [aFrom, bFrom, 0]
  let before = new Uint16Array(bTo - bFrom + 1)
  let now = new Uint16Array(bTo - bFrom + 1)
  for (let i = aFrom; i < aTo; i++) {
    for (let j = bFrom; j < bTo; j++) {
      const run = a.charCodeAt(i) === b.charCodeAt(j) ? before[j - bFrom]! + 1 : 0
      now[j - bFrom + 1] = run
      if (run > best[2]) best = [i - run + 1, j - run + 1, run]
    }
    const spare = before
    before = now
    now = spare
  }
  return best
}

/** An upper bound of `matchRatio`, from how often each character is in both. */
function mostRatio(a: string, b: string): number {
  const counts = new Map<string, number>()
  for (const character of b) counts.set(character, (counts.get(character) ?? 0) + 1)
  let common = 0
  for (const character of a) {
    const left = counts.get(character) ?? 0
    if (left > 0) common += character.length
    counts.set(character, left - 1)
  }
  return a.length + b.length === 0 ? 1 : (2 * common) / (a.length + b.length)
}

export function wordJaccard(a: string, b: string): number {
  const words = (text: string): Set<string> => new Set(text.toLowerCase().split(/\s+/).filter(Boolean))
  const [left, right] = [words(a), words(b)]
  const both = [...left].filter((word) => right.has(word)).length
  const all = left.size + right.size - both
  return all === 0 ? 1 : both / all
}
