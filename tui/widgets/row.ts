// A row of text made of pieces, each with its own tone, shortened or padded to an exact width. It is shortened between
// words, and never between a number and its unit. Widths are counted before colours are added, so no colour code is
// ever split. Text must be narrow: one cell per character.

import type { Theme, Tone } from '../screen/theme.ts'

export type Piece = string | readonly [tone: Tone, text: string]
export type Row = Piece | readonly Piece[]

const textOf = (piece: Piece): string => (typeof piece === 'string' ? piece : piece[1])
const toneOf = (piece: Piece): Tone => (typeof piece === 'string' ? 'plain' : piece[0])

/** A row is a list of pieces, or a single piece. */
export function piecesOf(row: Row): readonly Piece[] {
  if (typeof row === 'string') return [row]
  return isPiece(row) ? [row] : (row as readonly Piece[])
}

const TONES = new Set<string>([
  'plain',
  'bold',
  'ok',
  'attention',
  'failure',
  'second',
  'inverse',
] satisfies Tone[])
function isPiece(row: Exclude<Row, string>): row is readonly [Tone, string] {
  return row.length === 2 && typeof row[0] === 'string' && TONES.has(row[0]) && typeof row[1] === 'string'
}

export function rowWidth(row: Row): number {
  return piecesOf(row).reduce((sum, piece) => sum + [...textOf(piece)].length, 0)
}

/** Exactly `width` cells: shortened with an ellipsis, or padded with spaces. */
export function fitRow(row: Row, width: number, theme: Theme): string {
  const pieces = shortened(row, width, theme.symbols.dots)
  const out = pieces.map((piece) => {
    // Cells and notes have one that the terminal may not be able to show.
    const [tone, text] = [toneOf(piece), textOf(piece).replaceAll('…', theme.symbols.dots)]
    return tone === 'plain' || text === '' ? text : theme.paint(tone, text)
  })
  return out.join('') + ' '.repeat(Math.max(0, width - rowWidth(pieces)))
}

/** At most `width` cells; `dots` take the place of what is left out. */
function shortened(row: Row, width: number, dots: string): readonly Piece[] {
  const pieces = piecesOf(row)
  if (rowWidth(row) <= width) return pieces
  if (width <= 0) return []
  let left = cutAt([...pieces.map(textOf).join('')], width - 1)
  const kept = pieces.map((piece): Piece => {
    const text = [...textOf(piece)].slice(0, left)
    left -= text.length
    return [toneOf(piece), text.join('')]
  })
  return [...kept, dots]
}

/** The text without its end, if it has more than `width` characters: at least one is left for an ellipsis. */
const cutText = (text: string, width: number): string => shortened(text, width, '').map(textOf).join('')

/** Words that say nothing without what follows them: numbers without their unit, signs, opening brackets. */
const BEGINS = /(^|\s)([+\-−±~]?\d[\d.,]*|[^\p{L}\d\s●○✖▲%)]+|of|to|in|at|and|or|n|=|for)$/u

/** Longest name of a fact, with the two spaces before it. */
const LABEL = 14

/** How many of these characters to keep, at most `most`, so that no word and no amount is cut. */
function cutAt(characters: readonly string[], most: number): number {
  let at = most
  if (characters[at] !== ' ' && characters[at - 1] !== ' ') {
    while (at > 0 && characters[at - 1] !== ' ') at -= 1
  }
  let text = characters.slice(0, at).join('').trimEnd()
  for (let shorter = text; ; text = shorter) {
    shorter = text.replace(BEGINS, '').trimEnd()
    if (shorter === text) break
  }
  // A long word, such as an address, is cut where it is rather than left out.
  if ([...text].length * 2 < most) return most
  // Facts stand two spaces apart: the name of one that is left out goes as well.
  const isWhole = characters.slice([...text].length, [...text].length + 2).join('') === '  '
  const fact = text.lastIndexOf('  ')
  if (!isWhole && fact > 0 && text.length - fact <= LABEL) text = text.slice(0, fact).trimEnd()
  return [...text.replace(/[,;:]$/, '')].length
}

/** The first row that fits, from the longest to the shortest; the last one if none does. */
export function firstThatFits(width: number, rows: readonly [Row, ...Row[]]): Row {
  return rows.find((row) => rowWidth(row) <= width) ?? rows.at(-1)!
}

/** Left part, space, right part; the left part is shortened if needed. */
export function spread(left: Row, right: Row, width: number): Row {
  const room = width - rowWidth(right)
  const pieces = shortened(left, Math.max(0, room - 1), '')
  return [...pieces, ' '.repeat(Math.max(0, room - rowWidth(pieces))), ...piecesOf(right)]
}

/** Text in a column, aligned left or, for numbers, right. */
export function cell(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const shown = shortText(text, width)
  const gap = ' '.repeat(width - [...shown].length)
  return align === 'left' || shown !== text ? shown + gap : gap + shown
}

/** At most `width` cells; an ellipsis takes the place of what is left out. */
export function shortText(text: string, width: number): string {
  if ([...text].length <= width) return text
  return width > 0 ? `${cutText(text, width)}…` : ''
}
