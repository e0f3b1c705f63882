// A figure of one or more panels side by side, as an SVG with its own background, so that it is readable on light and
// dark pages.

import { drawIntervals, type IntervalPanel, intervalHeight } from './intervals.ts'
import { drawLines, LINES_HEIGHT, type LinePanel } from './lines.ts'
import { type Box, escaped, fixed, text } from './marks.ts'

export type Panel = LinePanel | IntervalPanel

export interface Figure {
  title: string
  panels: readonly Panel[]
}

const MARGIN = { top: 44, right: 18, bottom: 12, left: 12 }
const PANEL = 330
const GAP = 40
/** For the names of rows, left of a panel that tells them. */
const NAMES = 190

export function svgOf({ title, panels }: Figure): string {
  const height = Math.max(
    ...panels.map((panel) => (panel.kind === 'lines' ? LINES_HEIGHT : intervalHeight(panel))),
  )
  let x = MARGIN.left
  const drawn: string[] = []
  for (const panel of panels) {
    if (panel.kind === 'intervals' && panel.names) x += NAMES
    const box: Box = { x, y: MARGIN.top, width: PANEL, height }
    drawn.push(panel.kind === 'lines' ? drawLines(panel, box) : drawIntervals(panel, box))
    x += PANEL + GAP
  }
  const [wide, tall] = [x - GAP + MARGIN.right, MARGIN.top + height + MARGIN.bottom].map(fixed)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${tall}" width="${wide}" height="${tall}" role="img" aria-label="${escaped(title)}" font-family="ui-sans-serif, system-ui, sans-serif">`,
    `<rect width="100%" height="100%" rx="6" fill="#ffffff"/>`,
    text({ x: MARGIN.left + 4, y: 24, size: 14, bold: true }, title),
    ...drawn,
    '</svg>',
    '',
  ].join('\n')
}
