// Draws rows for the rules of arc_1d: colours, and runs of cells with gaps between them.

import type { Dice } from '../random.ts'
import { empty, put, type Row, repeat } from './row.ts'

export const anyColour = (dice: Dice): number => dice.between(1, 9)

/** A colour other than these. */
export function colourBut(dice: Dice, ...others: number[]): number {
  return dice.pick([1, 2, 3, 4, 5, 6, 7, 8, 9].filter((colour) => !others.includes(colour)))
}

/** Start positions from left to right for blocks of these sizes with gaps between; null if they do not fit. */
export function spread(dice: Dice, length: number, sizes: readonly number[], gap = 1): number[] | null {
  const slack = length - sizes.reduce((sum, size) => sum + size, 0) - gap * (sizes.length - 1)
  if (slack < 0) return null
  const offsets = sizes.map(() => dice.between(0, slack)).sort((a, b) => a - b)
  let taken = 0
  return sizes.map((size, i) => {
    const start = offsets[i]! + taken
    taken += size + gap
    return start
  })
}

/** A row with these runs of colours, spread out; null if they do not fit. */
export function rowWith(dice: Dice, length: number, runs: readonly number[][], gap = 1): Row | null {
  const sizes = runs.map((run) => run.length)
  const starts = spread(dice, length, sizes, gap)
  return starts && runs.reduce<Row | null>((row, run, i) => row && put(row, starts[i]!, run), empty(length))
}

/** Solid blocks of one colour with these sizes, in this order. */
export function plainBlocks(
  dice: Dice,
  length: number,
  colour: number,
  sizes: readonly number[],
): Row | null {
  return rowWith(
    dice,
    length,
    sizes.map((size) => repeat(colour, size)),
  )
}

export const sizesOf = (dice: Dice, count: number, low: number, high: number): number[] =>
  Array.from({ length: count }, () => dice.between(low, high))
