// A panel of means with their intervals, one per row, and a reference line to compare them with.

import { type Box, COLOURS, FAINT, fixed, line, scaleOf, text } from './marks.ts'

export interface IntervalPanel {
  kind: 'intervals'
  title: string
  x: string
  /** Half-widths are left out where there is one run alone, means where there is none. */
  rows: readonly { name: string; mean?: number; half?: number | undefined }[]
  /** Whether the names of the rows stand left of this panel; those beside it have the same rows. */
  names: boolean
  /** Where the comparison is, such as 0. */
  reference?: number
  /** Of the axis; of this panel's own figures if left out. */
  range?: readonly number[]
}

const ROW = 19
const INSET = { top: 24, bottom: 38 }
/**
 * Further than so many times the spread of means, an interval is cut at the edge: else one wide one hides all others.
 */
const REACH = 2.5

export const intervalHeight = ({ rows }: IntervalPanel): number =>
  INSET.top + INSET.bottom + ROW * rows.length

/** What an axis has to hold for these rows. */
export function rangeOf({ rows, reference }: Pick<IntervalPanel, 'rows' | 'reference'>): number[] {
  const means = [...rows.map(({ mean }) => mean), reference].filter((value) => value !== undefined)
  const [least, most] = [Math.min(...means), Math.max(...means)]
  const reach = REACH * (most - least || Math.abs(most) || 1)
  const ends = rows.flatMap(({ mean, half = 0 }) => (mean === undefined ? [] : [mean - half, mean + half]))
  return [...means, ...ends.map((end) => Math.max(least - reach, Math.min(most + reach, end)))]
}

export function drawIntervals(panel: IntervalPanel, box: Box): string {
  const { title, x: label, rows, names, reference } = panel
  const scale = scaleOf(panel.range ?? rangeOf(panel))
  const bottom = box.y + INSET.top + ROW * rows.length
  const place = (value: number): number => box.x + Math.max(0, Math.min(1, scale.at(value))) * box.width
  const drawn = [text({ x: box.x + 4, y: box.y + 8, bold: true }, title)]
  for (const tick of scale.ticks) {
    drawn.push(line([place(tick), box.y + INSET.top - 6], [place(tick), bottom], { colour: FAINT }))
    drawn.push(text({ x: place(tick), y: bottom + 14, anchor: 'middle' }, scale.show(tick)))
  }
  drawn.push(text({ x: box.x + box.width / 2, y: bottom + 30, anchor: 'middle' }, label))
  if (reference !== undefined) {
    const x = place(reference)
    drawn.push(line([x, box.y + INSET.top - 6], [x, bottom], { colour: COLOURS[2]!, dashes: '4 3' }))
  }
  rows.forEach(({ name, mean, half }, i) => {
    const y = box.y + INSET.top + ROW * (i + 0.5)
    if (names) drawn.push(text({ x: box.x - 10, y: y + 4, anchor: 'end' }, name))
    if (mean === undefined) return
    if (half !== undefined)
      drawn.push(line([place(mean - half), y], [place(mean + half), y], { colour: COLOURS[1]!, width: 2 }))
    drawn.push(`<circle cx="${fixed(place(mean))}" cy="${fixed(y)}" r="3.5" fill="${COLOURS[1]}"/>`)
  })
  return drawn.join('\n')
}
