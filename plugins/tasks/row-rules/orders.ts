// Rules of arc_1d that mirror or sort blocks.

import { anyColour, colourBut, plainBlocks, rowWith, sizesOf } from './drawn-rows.ts'
import { drawMarkedBlock, markedBlock } from './fills.ts'
import { dotAndBlock } from './moves.ts'
import { blocksOf, coloursOf, empty, put, type Row, type RowRule, repeat, sizeOf, spansOf } from './row.ts'

const mirrors = 'Something is mirrored.'
const sorts = 'Blocks are put in order.'

function reversedInPlace(row: Row): Row | null {
  const [span, ...others] = spansOf(row)
  if (!span || others.length > 0 || sizeOf(span) < 3) return null
  return put(row, span.start, [...span.colours].reverse())
}

const reflectMarked: RowRule = {
  name: 'reflect_block_with_border_pixel',
  family: mirrors,
  words: 'the block is mirrored in place: its odd end cell changes sides',
  draw: drawMarkedBlock,
  apply: (row) => (markedBlock(row) ? reversedInPlace(row) : null),
}

const reflectRandom: RowRule = {
  name: 'reflect_block_random',
  family: mirrors,
  words: 'the block is mirrored in place',
  draw(dice, length) {
    const mark = anyColour(dice)
    const rest = Array.from({ length: dice.between(2, length - 2) }, () => colourBut(dice, mark))
    return rowWith(dice, length, [dice.oneIn(2) ? [mark, ...rest] : [...rest, mark]])
  },
  apply: reversedInPlace,
}

const reflectAroundDot: RowRule = {
  name: 'reflect_block_around_dot',
  family: mirrors,
  words: 'the block is mirrored to the other side of the dot of colour 2',
  draw(dice, length) {
    const block = repeat(dice.between(3, 9), dice.between(2, Math.max(2, Math.floor(length / 4))))
    return rowWith(dice, length, dice.oneIn(2) ? [block, [2]] : [[2], block])
  },
  apply(row) {
    const found = dotAndBlock(row, 2)
    if (!found) return null
    const { dot, block } = found
    const still = put(empty(row.length), dot.start, [2])
    return still && put(still, 2 * dot.start - block.end + 1, block.colours)
  },
}

function sortedBySize(row: Row): Row | null {
  const runs = blocksOf(row)
  if (runs.length < 2 || coloursOf(row).length > 1) return null
  const cells = [...runs].sort((a, b) => sizeOf(a) - sizeOf(b)).flatMap(({ colours }) => [...colours, 0])
  return put(empty(row.length), 0, cells.slice(0, -1))
}

const sortBySize: RowRule = {
  name: 'sort_blocks_by_size',
  family: sorts,
  words: 'the blocks are put at the left by rising length, one empty cell between',
  draw: (dice, length) => plainBlocks(dice, length, anyColour(dice), sizesOf(dice, dice.between(2, 5), 1, 6)),
  apply: sortedBySize,
}

const sortSequence: RowRule = {
  ...sortBySize,
  name: 'sort_complete_sequence',
  draw(dice, length) {
    const most = Math.floor((Math.sqrt(8 * length + 17) - 3) / 2)
    const sizes = Array.from({ length: dice.between(2, Math.max(2, most)) }, (_, i) => i + 1)
    return plainBlocks(dice, length, anyColour(dice), dice.shuffle(sizes))
  },
  apply(row) {
    const sizes = blocksOf(row).map(sizeOf)
    return [...sizes].sort((a, b) => a - b).every((size, i) => size === i + 1) ? sortedBySize(row) : null
  },
}

export const ORDERS: readonly RowRule[] = [
  reflectMarked,
  reflectRandom,
  reflectAroundDot,
  sortBySize,
  sortSequence,
]
