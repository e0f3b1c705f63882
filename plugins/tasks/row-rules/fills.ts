// Rules of arc_1d that fill cells in.

import type { Dice } from '../random.ts'
import { anyColour, colourBut, rowWith } from './drawn-rows.ts'
import { blocksOf, colourOf, mirrored, put, type Row, type RowRule, repeat, sizeOf, spansOf } from './row.ts'

const fills = 'Cells are filled in.'

const twoPoints: RowRule = {
  name: 'two_points_and_fill',
  family: fills,
  words: 'the gap between two equal cells is filled with their colour',
  draw(dice, length) {
    const colour = anyColour(dice)
    return rowWith(dice, length, [[colour], [colour]])
  },
  apply(row) {
    const [a, b, ...others] = blocksOf(row)
    if (!a || !b || others.length > 0 || sizeOf(a) + sizeOf(b) !== 2 || colourOf(a) !== colourOf(b))
      return null
    return put(row, a.start, repeat(colourOf(a), b.end - a.start))
  },
}

const fromPixel: RowRule = {
  name: 'fill_from_pixel',
  family: fills,
  words: 'the colour of the odd end cell fills away from the block to the edge',
  draw: (dice, length) => drawMarkedBlock(dice, length),
  apply(row) {
    const marked = markedBlock(row)
    if (!marked) return null
    const { span, atEnd } = marked
    if (atEnd) return put(row, span.end - 1, repeat(span.colours.at(-1)!, row.length - span.end + 1))
    return put(row, 0, repeat(colourOf(span), span.start + 1))
  },
}

/** A solid block of two or more cells, with one end cell of another colour. */
export function drawMarkedBlock(dice: Dice, length: number): Row | null {
  const colour = anyColour(dice)
  const block = repeat(colour, dice.between(2, Math.max(2, Math.floor(length / 2))))
  const mark = colourBut(dice, colour)
  return rowWith(dice, length, [dice.oneIn(2) ? [...block, mark] : [mark, ...block]])
}

export function markedBlock(row: Row) {
  const [span, ...others] = spansOf(row)
  if (!span || others.length > 0 || sizeOf(span) < 3) return null
  const runs = blocksOf(row)
  if (runs.length !== 2 || Math.min(...runs.map(sizeOf)) !== 1) return null
  return { span, atEnd: sizeOf(runs[1]!) === 1 }
}

const untilCollision: RowRule = {
  name: 'fill_until_collision',
  family: fills,
  words: 'each cell fills towards the marker 5 until it meets the one before',
  draw(dice, length) {
    const dots = Array.from({ length: dice.between(2, 4) }, () => [colourBut(dice, 5)])
    const rest = rowWith(dice, length - 1, dots)
    return rest && (dice.oneIn(2) ? [5, ...rest] : [...rest, 5])
  },
  apply(row) {
    const left = row[0] === 5
    if (left === (row.at(-1) === 5)) return null
    const cells = left ? row : mirrored(row)
    const dots = blocksOf(cells.slice(1))
    const apart = dots.every((dot) => sizeOf(dot) === 1 && colourOf(dot) !== 5)
    if (!apart || dots.length < 2 || dots.length > 4) return null
    const filled = [...cells]
    let from = 1
    for (const { end, colours } of dots) {
      filled.fill(colours[0]!, from, end + 1)
      from = end + 1
    }
    return left ? filled : mirrored(filled)
  },
}

export const FILLS: readonly RowRule[] = [twoPoints, fromPixel, untilCollision]
