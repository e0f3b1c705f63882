// Rules of arc_1d that shift one block by a number of cells, up to the edge or around it.

import { anyColour } from './drawn-rows.ts'
import { cellCount, empty, isPlain, mirror, onlySpan, put, type RowRule, spansOf } from './row.ts'

const family = 'Something moves.'

function moveRight(by: number, colourful: boolean): RowRule {
  return {
    name: `move_${by}pix_${colourful ? 'colorful' : 'solid'}_right`,
    family,
    words: `the block moves ${cellCount(by)} to the right`,
    draw(dice, length) {
      const size = dice.between(3, Math.max(3, Math.floor(length / 2)))
      const colour = anyColour(dice)
      const block = Array.from({ length: size }, () => (colourful ? anyColour(dice) : colour))
      return size + by > length ? null : put(empty(length), dice.between(0, length - by - size), block)
    },
    apply(row) {
      const block = onlySpan(row)
      if (!block || (!colourful && !isPlain(block))) return null
      return put(empty(row.length), block.start + by, block.colours)
    },
  }
}

function wrapRight(by: number, colourful: boolean): RowRule {
  return {
    name: `move_${by}pix_${colourful ? 'colorful' : 'solid'}_wrapped_right`,
    family,
    words: `the block moves ${cellCount(by)} to the right, around the edge`,
    draw(dice, length) {
      const size = dice.between(2, length - 1)
      const colour = anyColour(dice)
      const block = Array.from({ length: size }, () => (colourful ? anyColour(dice) : colour))
      const start = dice.below(length)
      const row = empty(length)
      for (const [i, cell] of block.entries()) row[(start + i) % length] = cell
      return row
    },
    apply(row) {
      const spans = spansOf(row)
      const joined = spans.length === 2 && spans[0]!.start === 0 && spans[1]!.end === row.length
      if (spans.length !== 1 && !joined) return null
      if (!colourful && new Set(spans.flatMap(({ colours }) => colours)).size > 1) return null
      return row.map((_, at) => row[(at - by + row.length) % row.length]!)
    },
  }
}

const toTheLeft = (rule: RowRule): RowRule =>
  mirror(rule, rule.name.replace(/right$/, 'left'), rule.words.replace('the right', 'the left'))

const steps = [1, 2, 3, 4].flatMap((by) => [false, true].map((colourful) => ({ by, colourful })))
const plain = steps.map(({ by, colourful }) => moveRight(by, colourful))
const wrapped = steps.map(({ by, colourful }) => wrapRight(by, colourful))

export const SHIFTS: readonly RowRule[] = [...plain, ...plain.map(toTheLeft)]
export const WRAPPED_SHIFTS: readonly RowRule[] = [...wrapped, ...wrapped.map(toTheLeft)]
