// Rules of arc_1d that pack cells at one end, as if by gravity. `left` packs at the left end.

import type { Dice } from '../random.ts'
import { anyColour } from './drawn-rows.ts'
import { coloursOf, empty, mirror, type Row, type RowRule, repeat } from './row.ts'

const family = 'Cells are packed at one end.'

/** A row with half of its cells filled. */
function half(dice: Dice, length: number, colour: () => number): Row {
  const filled = dice.shuffle(Array.from({ length }, (_, i) => i < Math.floor(length / 2)))
  return filled.map((isFilled) => (isFilled ? colour() : 0))
}

const anyHalf: RowRule['draw'] = (dice, length) => half(dice, length, () => anyColour(dice))
const oneTwoHalf: RowRule['draw'] = (dice, length) => half(dice, length, () => dice.between(1, 2))

const onlyOneTwo = (row: Row): boolean => coloursOf(row).every((colour) => colour <= 2)
const count = (row: Row, colour: number): number => row.filter((cell) => cell === colour).length

/** The cells, followed by empty ones up to the row's length. */
const packed = (cells: number[], length: number): Row => [...cells, ...empty(length - cells.length)]

const LEFT: readonly RowRule[] = [
  {
    name: 'gravity_left',
    family,
    words: 'all cells fall to the left end, in their order',
    draw: anyHalf,
    apply: (row) =>
      packed(
        row.filter((cell) => cell !== 0),
        row.length,
      ),
  },
  {
    name: 'gravity_counting_left',
    family,
    words: 'as many 1s at the left end as there are cells',
    draw: anyHalf,
    apply: (row) => packed(repeat(1, row.filter((cell) => cell !== 0).length), row.length),
  },
  {
    name: 'gravity_antigravity_left',
    family,
    words: '2s fall to the left end, 1s to the right end',
    draw: oneTwoHalf,
    apply(row) {
      if (!onlyOneTwo(row)) return null
      const [ones, twos] = [count(row, 1), count(row, 2)]
      return [...repeat(2, twos), ...empty(row.length - ones - twos), ...repeat(1, ones)]
    },
  },
  {
    name: 'gravity_one_step_left',
    family,
    words: 'each cell in turn moves one cell left if that is empty',
    draw: anyHalf,
    apply(row) {
      const moved = [...row]
      for (let at = 1; at < moved.length; at++)
        if (moved[at - 1] === 0) {
          moved[at - 1] = moved[at]!
          moved[at] = 0
        }
      return moved
    },
  },
  {
    name: 'gravity_weighted_colors_left',
    family,
    words: '2s fall to the left end, then the 1s behind them',
    draw: oneTwoHalf,
    apply(row) {
      if (!onlyOneTwo(row)) return null
      return packed([...repeat(2, count(row, 2)), ...repeat(1, count(row, 1))], row.length)
    },
  },
]

const swapped = (words: string): string =>
  words.replace(/left|right/g, (side) => (side === 'left' ? 'right' : 'left'))

export const GRAVITY: readonly RowRule[] = LEFT.flatMap((rule) => [
  rule,
  mirror(rule, rule.name.replace('left', 'right'), swapped(rule.words)),
])
