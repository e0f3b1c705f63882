// A row of text made of pieces, each with its own tone, truncated or padded to an exact width. Widths are
// counted before colours are added, so no colour code is ever split. Text must be narrow: one cell per
// character.

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

/** Exactly `width` cells: truncated with an ellipsis, or padded with spaces. */
export function fitRow(row: Row, width: number, theme: Theme): string {
  let left = width
  let out = ''
  const tooLong = rowWidth(row) > width
  if (tooLong) left = Math.max(0, width - 1)
  for (const piece of piecesOf(row)) {
    if (left === 0) break
    const characters = [...textOf(piece)]
    const text = characters.length > left ? characters.slice(0, left).join('') : textOf(piece)
    left -= Math.min(left, characters.length)
    const tone = toneOf(piece)
    out += tone === 'plain' ? text : theme.paint(tone, text)
  }
  if (tooLong) return width > 0 ? out + theme.symbols.dots : ''
  return out + ' '.repeat(left)
}

/** The first row that fits, from the longest to the shortest; the last one if none does. */
export function firstThatFits(width: number, rows: readonly [Row, ...Row[]]): Row {
  return rows.find((row) => rowWidth(row) <= width) ?? rows.at(-1)!
}

/** Left part, space, right part; the left part is truncated if needed. */
export function spread(left: Row, right: Row, width: number): Row {
  const room = width - rowWidth(right)
  const pieces: Piece[] = []
  let used = 0
  for (const piece of piecesOf(left)) {
    const text = [...textOf(piece)].slice(0, Math.max(0, room - 1 - used)).join('')
    used += [...text].length
    pieces.push([toneOf(piece), text])
  }
  return [...pieces, ' '.repeat(Math.max(0, room - used)), ...piecesOf(right)]
}

/** Text in a column, aligned left or, for numbers, right. */
export function cell(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const characters = [...text]
  if (characters.length > width) return width > 0 ? `${characters.slice(0, width - 1).join('')}…` : ''
  return align === 'left'
    ? text + ' '.repeat(width - characters.length)
    : ' '.repeat(width - characters.length) + text
}
