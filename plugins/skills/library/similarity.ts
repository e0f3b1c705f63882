// Decides whether two texts give the same advice, by the share of characters in matching blocks or of common words.
//
// SLEA-RL (arXiv 2603.18079) uses Python's SequenceMatcher on the first 300 characters, or the Jaccard index
// of words; texts are alike above 0.85. Matching blocks: the longest common run (the first in `a`, then in
// `b`), and recursively those to its left and right (Ratcliff and Obershelp); without SequenceMatcher's
// heuristic for frequent characters.

const SEEN = 300
const ALIKE = 0.85

export function areAlike(a: string, b: string): boolean {
  const [left, right] = [a.slice(0, SEEN), b.slice(0, SEEN)]
  return (
    wordJaccard(a, b) > ALIKE || (mostRatio(left, right) > ALIKE && matchRatio(left, right, ALIKE) > ALIKE)
  )
}

/** 2 matches / (sum of lengths), 1 for two empty texts. May return 0 early if it cannot exceed `least`. */
export function matchRatio(a: string, b: string, least = 0): number {
  const both = a.length + b.length
  if (both === 0) return 1
  const [left, right] = [codesOf(a), codesOf(b)]
  let matches = 0
  /** The most matches that the remaining ranges can add. */
  let possible = Math.min(a.length, b.length)
  const open: Range[] = [[0, a.length, 0, b.length]]
  for (let range = open.pop(); range; range = open.pop()) {
    const [aFrom, aTo, bFrom, bTo] = range
    const [atA, atB, length] = longestRun(left, right, range)
    possible -= Math.min(aTo - aFrom, bTo - bFrom)
    if (length > 0) {
      matches += length
      const sides: Range[] = [
        [aFrom, atA, bFrom, atB],
        [atA + length, aTo, atB + length, bTo],
      ]
      for (const side of sides) {
        const most = Math.min(side[1] - side[0], side[3] - side[2])
        if (most === 0) continue
        possible += most
        open.push(side)
      }
    }
    if ((2 * (matches + possible)) / both <= least) return 0
  }
  return (2 * matches) / both
}

/** Start and end in one text, start and end in the other. */
type Range = [number, number, number, number]

const codesOf = (text: string): Uint16Array =>
  Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))

function longestRun(
  a: Uint16Array,
  b: Uint16Array,
  [aFrom, aTo, bFrom, bTo]: Range,
): [number, number, number] {
  let [atA, atB, longest] = [aFrom, bFrom, 0]
  // Lengths of runs that end at each position of `b`; backwards, so that one row is enough.
  const runs = new Uint16Array(bTo - bFrom + 1)
  for (let i = aFrom; i < aTo; i++) {
    const code = a[i]!
    for (let j = bTo - 1; j >= bFrom; j--) {
      const run = code === b[j] ? runs[j - bFrom]! + 1 : 0
      runs[j - bFrom + 1] = run
      // Of equally long runs, take the first in `a`, then in `b`; this loop goes backwards through `b`.
      if (run > longest || (run === longest && run > 0 && i - run + 1 === atA)) {
        atA = i - run + 1
        atB = j - run + 1
        longest = run
      }
    }
  }
  return [atA, atB, longest]
}

/** An upper bound of `matchRatio`, from character counts. */
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
