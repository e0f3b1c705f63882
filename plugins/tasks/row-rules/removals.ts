// Rules of arc_1d that remove cells.

import { anyColour, colourBut, rowWith } from './drawn-rows.ts'
import {
  blocksOf,
  colourOf,
  coloursOf,
  empty,
  isPlain,
  put,
  type RowRule,
  repeat,
  sizeOf,
  spansOf,
} from './row.ts'

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

export const REMOVALS: readonly RowRule[] = [noiseRemove, noiseInside, twoPointsInverse]
