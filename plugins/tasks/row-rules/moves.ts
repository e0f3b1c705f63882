// Rules of arc_1d by which one block moves: by a number of cells, around the edge, up to a dot, by its own size.

import {
  anyColour,
  blocksOf,
  colourBut,
  colourOf,
  empty,
  isPlain,
  mirror,
  put,
  type Row,
  type RowRule,
  repeat,
  rowWith,
  sizeOf,
  spansOf,
} from './row.ts'

const family = 'Something moves.'

/** The row's only span, if it has just one. */
function onlySpan(row: Row) {
  const spans = spansOf(row)
  return spans.length === 1 ? spans[0]! : null
}

const cells = (count: number): string => (count === 1 ? '1 cell' : `${count} cells`)

function moveRight(by: number, colourful: boolean): RowRule {
  return {
    name: `move_${by}pix_${colourful ? 'colorful' : 'solid'}_right`,
    family,
    words: `the block moves ${cells(by)} to the right`,
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
    words: `the block moves ${cells(by)} to the right, around the edge`,
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

/** A dot of one cell and one plain block, told apart by colour, with at least `gap` cells between. */
export function dotAndBlock(row: Row, dotColour: number) {
  const runs = blocksOf(row)
  const dot = runs.find((run) => colourOf(run) === dotColour)
  const block = runs.find((run) => colourOf(run) > dotColour)
  if (runs.length !== 2 || !dot || !block || sizeOf(dot) !== 1) return null
  return { dot, block, gap: Math.max(dot.start - block.end, block.start - dot.end) }
}

/** Block left of the dot; the rules take either side. */
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
      ? `the block moves up to ${cells(most)} towards the dot of colour ${dotColour}`
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

const steps = [1, 2, 3, 4].flatMap((by) => [false, true].map((colourful) => ({ by, colourful })))
const plain = steps.map(({ by, colourful }) => moveRight(by, colourful))
const wrapped = steps.map(({ by, colourful }) => wrapRight(by, colourful))

export const SHIFTS: readonly RowRule[] = [...plain, ...plain.map(toTheLeft)]
export const WRAPPED_SHIFTS: readonly RowRule[] = [...wrapped, ...wrapped.map(toTheLeft)]
export const OTHER_MOVES: readonly RowRule[] = [
  touchDot(1, Number.POSITIVE_INFINITY),
  ...[1, 2, 3, 4].map((most) => touchDot(2, most)),
  scaleToDot,
  byOwnSize,
]
