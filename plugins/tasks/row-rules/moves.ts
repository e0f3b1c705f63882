// Rules of arc_1d that move or extend a block towards a dot, or move it by its own size.

import { colourBut, rowWith } from './drawn-rows.ts'
import {
  blocksOf,
  cellCount,
  colourOf,
  empty,
  isPlain,
  onlySpan,
  put,
  type Row,
  type RowRule,
  repeat,
  sizeOf,
} from './row.ts'

const family = 'Something moves.'

/** A dot of one cell and one solid block of another colour, with at least `gap` cells between. */
export function dotAndBlock(row: Row, dotColour: number) {
  const runs = blocksOf(row)
  const dot = runs.find((run) => colourOf(run) === dotColour)
  const block = runs.find((run) => colourOf(run) > dotColour)
  if (runs.length !== 2 || !dot || !block || sizeOf(dot) !== 1) return null
  return { dot, block, gap: Math.max(dot.start - block.end, block.start - dot.end) }
}

/** Draws a block to the left of a dot; the rules themselves apply to both sides. */
function drawDotAndBlock(dotColour: number): RowRule['draw'] {
  return (dice, length) => {
    const block = repeat(dice.between(dotColour + 1, 9), dice.between(2, Math.max(2, Math.floor(length / 3))))
    const runs = dice.oneIn(2) ? [block, [dotColour]] : [[dotColour], block]
    return rowWith(dice, length, runs)
  }
}

function touchDot(dotColour: number, most: number): RowRule {
  const limited = Number.isFinite(most)
  return {
    name: limited ? `block_touch_dot_${most}pix` : 'block_touch_dot',
    family,
    words: limited
      ? `the block moves up to ${cellCount(most)} towards the dot of colour ${dotColour}`
      : `the block moves until it touches the dot of colour ${dotColour}`,
    draw: drawDotAndBlock(dotColour),
    apply(row) {
      const found = dotAndBlock(row, dotColour)
      if (!found) return null
      const { dot, block, gap } = found
      const by = Math.min(gap, most)
      const still = put(empty(row.length), dot.start, dot.colours)
      return still && put(still, block.start + (block.start < dot.start ? by : -by), block.colours)
    },
  }
}

const scaleToDot: RowRule = {
  name: 'block_scale_to_dot',
  family: 'Something grows.',
  words: 'the block grows up to and over the dot of colour 2',
  draw: drawDotAndBlock(2),
  apply(row) {
    const found = dotAndBlock(row, 2)
    if (!found) return null
    const start = Math.min(found.dot.start, found.block.start)
    const end = Math.max(found.dot.end, found.block.end)
    return put(empty(row.length), start, repeat(colourOf(found.block), end - start))
  },
}

const byOwnSize: RowRule = {
  name: 'move_block_by_own_size',
  family,
  words: 'the block moves right by its own length',
  draw(dice, length) {
    const size = dice.between(2, Math.floor(length / 2))
    return put(empty(length), dice.between(0, length - 2 * size), repeat(colourBut(dice), size))
  },
  apply(row) {
    const block = onlySpan(row)
    return block && isPlain(block) ? put(empty(row.length), block.start + sizeOf(block), block.colours) : null
  },
}

export const MOVES: readonly RowRule[] = [
  touchDot(1, Number.POSITIVE_INFINITY),
  ...[1, 2, 3, 4].map((most) => touchDot(2, most)),
  scaleToDot,
  byOwnSize,
]
