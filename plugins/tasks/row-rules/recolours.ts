// Rules of arc_1d that change the colour of blocks.

import { anyColour, colourBut, plainBlocks, rowWith, sizesOf } from './drawn-rows.ts'
import { blocksOf, colourOf, coloursOf, put, type Row, type RowRule, repeat, sizeOf } from './row.ts'

const recolours = 'Colours change.'

const paintBiggest: RowRule = {
  name: 'paint_biggest_block',
  family: recolours,
  words: 'the longest block turns 1',
  draw: (dice, length) =>
    plainBlocks(dice, length, dice.between(2, 9), sizesOf(dice, dice.between(2, 4), 2, 6)),
  apply(row) {
    const runs = blocksOf(row)
    const longest = Math.max(...runs.map(sizeOf))
    const [biggest, ...ties] = runs.filter((run) => sizeOf(run) === longest)
    const [colour, ...more] = coloursOf(row)
    if (!biggest || ties.length > 0 || runs.length < 2 || more.length > 0 || colour === 1) return null
    return put(row, biggest.start, repeat(1, longest))
  },
}

const bySize: RowRule = {
  name: 'recolor_blocks_by_size',
  family: recolours,
  words: 'the longer block turns 1, the shorter 2',
  draw: (dice, length) => plainBlocks(dice, length, 3, sizesOf(dice, 2, 2, 8)),
  apply(row) {
    const [a, b, ...others] = blocksOf(row)
    if (!a || !b || others.length > 0 || sizeOf(a) === sizeOf(b)) return null
    if (colourOf(a) !== 3 || colourOf(b) !== 3) return null
    const [longer, shorter] = sizeOf(a) > sizeOf(b) ? [a, b] : [b, a]
    const painted = put(row, longer.start, repeat(1, sizeOf(longer)))
    return painted && put(painted, shorter.start, repeat(2, sizeOf(shorter)))
  },
}

const toFive: RowRule = {
  name: 'change_to_five',
  family: recolours,
  words: 'every cell that is not empty turns 5',
  draw: (dice, length) => Array.from({ length }, () => (dice.oneIn(2) ? anyColour(dice) : 0)),
  apply: (row) => row.map((cell) => (cell === 0 ? 0 : 5)),
}

const fromPalette: RowRule = {
  name: 'recolor_blocks_from_palette',
  family: recolours,
  words: 'the colours at the left go to the blocks of 5, in order',
  draw(dice, length) {
    // Eight colours remain besides the blocks' own 5, so there can be at most eight blocks.
    const size = dice.between(1, 4)
    const most = Math.min(8, Math.floor(length / (size + 2)))
    if (most < 2) return null
    const colours = dice.shuffle([1, 2, 3, 4, 6, 7, 8, 9]).slice(0, dice.between(2, most))
    const blocks = colours.map(() => repeat(5, size))
    const rest = rowWith(dice, length - colours.length - 1, blocks)
    return rest && [...colours, 0, ...rest]
  },
  apply(row) {
    const palette = row.slice(0, row.indexOf(0))
    const blocks = blocksOf(row).filter((run) => run.start > palette.length)
    if (!row.includes(0) || palette.length < 2 || palette.includes(5)) return null
    if (new Set(palette).size !== palette.length || blocks.length !== palette.length) return null
    if (blocks.some((run) => colourOf(run) !== 5 || sizeOf(run) !== sizeOf(blocks[0]!))) return null
    return blocks.reduce<Row | null>(
      (to, run, i) => to && put(to, run.start, repeat(palette[i]!, sizeOf(run))),
      row,
    )
  },
}

const leftHalves: RowRule = {
  name: 'color_left_half_blocks',
  family: recolours,
  words: 'the left half of each block turns 8',
  draw: (dice, length) => plainBlocks(dice, length, 2, sizesOf(dice, dice.between(1, 4), 2, 7)),
  apply(row) {
    if (coloursOf(row).some((colour) => colour !== 2)) return null
    return blocksOf(row).reduce<Row | null>(
      (to, run) => to && put(to, run.start, repeat(8, Math.floor(sizeOf(run) / 2))),
      row,
    )
  },
}

const markTwos: RowRule = {
  name: 'mark_size_two_blocks',
  family: recolours,
  words: 'each block of two cells gets a 3 on either side',
  draw(dice, length) {
    const sizes = [2, ...sizesOf(dice, dice.between(1, 3), 1, 4)]
    return plainBlocks(dice, length, colourBut(dice, 3), dice.shuffle(sizes))
  },
  apply(row) {
    if (coloursOf(row).includes(3) || coloursOf(row).length !== 1) return null
    const marked = [...row]
    for (const { start, end } of blocksOf(row).filter((run) => sizeOf(run) === 2))
      for (const at of [start - 1, end]) if (marked[at] !== undefined) marked[at] = 3
    return marked
  },
}

export const RECOLOURS: readonly RowRule[] = [paintBiggest, bySize, toFive, fromPalette, leftHalves, markTwos]
