// Rules of arc_1d by which cells are filled in or taken away.

import type { Dice } from '../random.ts'
import {
  anyColour,
  blocksOf,
  colourBut,
  colourOf,
  coloursOf,
  empty,
  isPlain,
  mirrored,
  put,
  type Row,
  type RowRule,
  repeat,
  rowWith,
  sizeOf,
  spansOf,
} from './row.ts'

const fills = 'Cells are filled in.'
const removes = 'Something is taken away.'

const noiseRemove: RowRule = {
  name: 'block_and_noise_remove',
  family: removes,
  words: 'single cells vanish, the block stays',
  draw(dice, length) {
    const colour = anyColour(dice)
    const block = repeat(colour, dice.between(2, Math.max(2, Math.floor(length / 2))))
    const noise = Array.from({ length: dice.between(1, 3) }, () => [colour])
    return rowWith(dice, length, dice.shuffle([block, ...noise]))
  },
  apply(row) {
    const runs = blocksOf(row)
    const [block, ...others] = runs.filter((run) => sizeOf(run) > 1)
    if (!block || others.length > 0 || runs.length < 2 || coloursOf(row).length > 1) return null
    return put(empty(row.length), block.start, block.colours)
  },
}

const noiseInside: RowRule = {
  name: 'block_and_noise_remove_inside',
  family: removes,
  words: 'cells of other colours inside the block take its colour',
  draw(dice, length) {
    const colour = anyColour(dice)
    const size = dice.between(6, Math.max(6, length - 1))
    const noisy = dice.between(1, Math.floor(size / 2) - 1)
    const inside = dice.shuffle(Array.from({ length: size - 2 }, (_, i) => i < noisy))
    const block = [colour, ...inside.map((isNoise) => (isNoise ? colourBut(dice, colour) : colour)), colour]
    return rowWith(dice, length, [block])
  },
  apply(row) {
    const [block, ...others] = spansOf(row)
    if (!block || others.length > 0 || sizeOf(block) < 6 || isPlain(block)) return null
    const colour = colourOf(block)
    const noise = block.colours.filter((cell) => cell !== colour).length
    if (block.colours.at(-1) !== colour || noise >= sizeOf(block) / 2) return null
    return put(row, block.start, repeat(colour, sizeOf(block)))
  },
}

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

const twoPointsInverse: RowRule = {
  name: 'two_points_and_fill_inv',
  family: removes,
  words: 'only the two ends of the block stay',
  draw: (dice, length) => rowWith(dice, length, [repeat(anyColour(dice), dice.between(3, length - 1))]),
  apply(row) {
    const [block, ...others] = spansOf(row)
    if (!block || others.length > 0 || sizeOf(block) < 3 || !isPlain(block)) return null
    return put(row, block.start + 1, empty(sizeOf(block) - 2))
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

/** A plain block of two or more with one end cell of another colour. */
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

export const FILLS: readonly RowRule[] = [
  noiseRemove,
  noiseInside,
  twoPoints,
  twoPointsInverse,
  fromPixel,
  untilCollision,
]
