// Rows of cells, and code shared by the rules of arc_1d. A cell is 0 (empty) or a colour from 1 to 9.

import type { Dice } from '../random.ts'

export type Row = number[]

export interface RowRule {
  name: string
  /** A hint at the kind of change that does not give the rule away. */
  family: string
  /** The rule in words. */
  words: string
  /** A row to apply the rule to, or null if this draw failed. */
  draw(dice: Dice, length: number): Row | null
  /** Null for rows that the rule does not apply to. Never changes its argument. */
  apply(row: Row): Row | null
}

export interface Run {
  start: number
  /** One past the last cell. */
  end: number
  colours: number[]
}

function split(row: Row, joins: (a: number, b: number) => boolean): Run[] {
  const runs: Run[] = []
  for (const [at, colour] of row.entries()) {
    if (colour === 0) continue
    const last = runs.at(-1)
    if (last && last.end === at && joins(row[at - 1]!, colour)) {
      last.end++
      last.colours.push(colour)
    } else runs.push({ start: at, end: at + 1, colours: [colour] })
  }
  return runs
}

/** Runs of non-empty cells of any colours. */
export const spansOf = (row: Row): Run[] => split(row, () => true)

/** Runs of cells of one colour. */
export const blocksOf = (row: Row): Run[] => split(row, (a, b) => a === b)

/** The row's only span, if there is exactly one. */
export function onlySpan(row: Row): Run | null {
  const [span, ...others] = spansOf(row)
  return span && others.length === 0 ? span : null
}

export const sizeOf = ({ start, end }: Run): number => end - start
export const colourOf = ({ colours }: Run): number => colours[0]!
export const isPlain = ({ colours }: Run): boolean => colours.every((colour) => colour === colours[0])
export const coloursOf = (row: Row): number[] => [...new Set(row.filter((cell) => cell !== 0))]

export const empty = (length: number): Row => Array<number>(length).fill(0)
export const repeat = (colour: number, times: number): number[] => Array<number>(times).fill(colour)

/** Writes colours into a copy of the row; null if they do not fit. */
export function put(row: Row, start: number, colours: readonly number[]): Row | null {
  if (start < 0 || start + colours.length > row.length) return null
  const copy = [...row]
  for (const [i, colour] of colours.entries()) copy[start + i] = colour
  return copy
}

export const mirrored = (row: Row): Row => [...row].reverse()

/** The mirrored rule, with left and right exchanged. */
export function mirror(rule: RowRule, name: string, words: string): RowRule {
  return {
    ...rule,
    name,
    words,
    draw(dice, length) {
      const row = rule.draw(dice, length)
      return row && mirrored(row)
    },
    apply(row) {
      const applied = rule.apply(mirrored(row))
      return applied && mirrored(applied)
    },
  }
}

export const cellCount = (count: number): string => (count === 1 ? '1 cell' : `${count} cells`)

/** `4 at 3-6` for each block, with positions counted from 1. */
export function describeRow(row: Row): string {
  return blocksOf(row)
    .map(({ start, end, colours }) => `${colours[0]} at ${start + 1}${end - start > 1 ? `-${end}` : ''}`)
    .join('; ')
}
