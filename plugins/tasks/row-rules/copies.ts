// Rules of arc_1d that copy a block or a pattern.

import { anyColour, rowWith } from './drawn-rows.ts'
import {
  blocksOf,
  colourOf,
  empty,
  mirrored,
  put,
  type Row,
  type RowRule,
  repeat,
  sizeOf,
  spansOf,
} from './row.ts'

const copies = 'Something is copied.'

function copyToDots(inColours: boolean): RowRule {
  return {
    name: inColours ? 'copy_block_to_dots_colors' : 'copy_block_to_dots',
    family: copies,
    words: `each dot becomes a copy of the block around it${inColours ? ', in the colour of the dot' : ''}`,
    draw(dice, length) {
      const [size, colour] = [dice.pick([3, 5]), anyColour(dice)]
      // Copies keep one cell between them, so dots are spaced as blocks would be.
      const room = Math.floor((length - size) / (size + 1))
      if (room < 1) return null
      const dots = Array.from({ length: dice.between(1, Math.min(room, 4)) }, () => {
        const dot = empty(size)
        dot[(size - 1) / 2] = inColours ? anyColour(dice) : colour
        return dot
      })
      const rest = rowWith(dice, length - size - 1, dots)
      return rest && [...repeat(colour, size), 0, ...rest]
    },
    apply(row) {
      const [block, ...dots] = blocksOf(row)
      if (block?.start !== 0 || dots.length === 0 || ![3, 5].includes(sizeOf(block))) return null
      const reach = (sizeOf(block) - 1) / 2
      let copied: Row | null = row
      let free = block.end
      for (const dot of dots) {
        const colour = colourOf(dot)
        if (sizeOf(dot) !== 1 || (!inColours && colour !== colourOf(block)) || dot.start - reach <= free)
          return null
        copied = copied && put(copied, dot.start - reach, repeat(colour, sizeOf(block)))
        free = dot.end + reach
      }
      return copied
    },
  }
}

const repeatPattern: RowRule = {
  name: 'repeat_pattern_full',
  family: copies,
  words: 'the pattern at the left goes on to the right end',
  draw(dice, length) {
    const pattern = Array.from({ length: dice.between(2, 5) }, () => anyColour(dice))
    if (new Set(pattern).size === 1) return null
    return put(empty(length), 0, [...pattern, ...pattern])
  },
  apply(row) {
    const [shown, ...others] = spansOf(row)
    const period = shown ? sizeOf(shown) / 2 : 0
    if (
      !shown ||
      shown.start > 0 ||
      others.length > 0 ||
      !Number.isInteger(period) ||
      period < 2 ||
      period > 5
    )
      return null
    if (shown.colours.some((colour, i) => colour !== shown.colours[i % period])) return null
    return row.map((_, at) => shown.colours[at % period]!)
  },
}

/** Copies of a block to the right of a seed, with one empty cell between them, cut off at the edge. */
function copiesFrom(row: Row, seed: number, size: number): Row {
  const colour = row[seed]!
  return row.map((cell, at) => (at < seed ? cell : (at - seed) % (size + 1) < size ? colour : 0))
}

const fromSeeds: RowRule = {
  name: 'duplicate_block_from_seeds',
  family: copies,
  words: 'from each seed on, copies of the block in its colour run to the edge',
  draw(dice, length) {
    const size = dice.between(2, 4)
    const sides = dice.pick([
      [true, false],
      [false, true],
      [true, true],
    ])
    const seed = (): number => dice.between(2, 9)
    const block = [...(sides[0] ? [seed(), 0] : []), ...repeat(1, size), ...(sides[1] ? [0, seed()] : [])]
    return block.length > length ? null : rowWith(dice, length, [block])
  },
  apply(row) {
    const runs = blocksOf(row)
    const block = runs.find((run) => colourOf(run) === 1)
    if (!block || sizeOf(block) < 2 || sizeOf(block) > 4) return null
    const seeds = runs.filter((run) => run !== block)
    if (seeds.length === 0 || seeds.some((run) => sizeOf(run) > 1 || colourOf(run) === 1)) return null
    let copied: Row = row
    for (const { start } of seeds) {
      if (start === block.end + 1) copied = copiesFrom(copied, start, sizeOf(block))
      else if (start === block.start - 2)
        copied = mirrored(copiesFrom(mirrored(copied), row.length - 1 - start, sizeOf(block)))
      else return null
    }
    return copied
  },
}

export const COPIES: readonly RowRule[] = [copyToDots(false), copyToDots(true), repeatPattern, fromSeeds]
