// A panel of lines over a common axis, with a legend below.

import { type Box, COLOURS, FAINT, fixed, line, scaleOf, text } from './marks.ts'

export interface LinePanel {
  kind: 'lines'
  title: string
  x: string
  series: readonly {
    name: string
    points: readonly (readonly [x: number, y: number])[]
    /** Of the list of colours; by the order of series if left out. */
    colour?: number
  }[]
}

export const LINES_HEIGHT = 330
const LEGEND = 46
const INSET = { top: 24, bottom: 34, left: 40 }

export function drawLines({ title, x: label, series }: LinePanel, box: Box): string {
  const points = series.flatMap((one) => one.points)
  const [across, up] = [scaleOf(points.map(([x]) => x)), scaleOf(points.map(([, y]) => y))]
  const left = box.x + INSET.left
  const top = box.y + INSET.top
  const bottom = box.y + box.height - LEGEND - INSET.bottom
  const right = box.x + box.width
  const place = (x: number, y: number): [number, number] => [
    left + across.at(x) * (right - left),
    bottom - up.at(y) * (bottom - top),
  ]
  const drawn = [text({ x: box.x + 4, y: box.y + 8, bold: true }, title)]
  for (const tick of up.ticks) {
    const [, y] = place(across.low, tick)
    drawn.push(line([left, y], [right, y], { colour: FAINT }))
    drawn.push(text({ x: left - 6, y: y + 4, anchor: 'end' }, up.show(tick)))
  }
  for (const tick of across.ticks) {
    const [x] = place(tick, up.low)
    drawn.push(text({ x, y: bottom + 15, anchor: 'middle' }, across.show(tick)))
  }
  drawn.push(text({ x: (left + right) / 2, y: bottom + 30, anchor: 'middle' }, label))
  const width = (right - box.x) / 3
  series.forEach(({ name, points: own, colour: chosen }, i) => {
    const colour = COLOURS[(chosen ?? i) % COLOURS.length]!
    const path = own.map(([x, y]) => place(x, y).map(fixed).join(' ')).join('L')
    drawn.push(
      `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="1.6" stroke-linejoin="round"/>`,
    )
    const [x, y] = [box.x + (i % 3) * width, bottom + 52 + 17 * Math.floor(i / 3)]
    drawn.push(line([x, y - 4], [x + 16, y - 4], { colour, width: 2.5 }))
    drawn.push(text({ x: x + 21, y }, name))
  })
  return drawn.join('\n')
}
