// Scrollable text over the body of the screen: help, or a command's output.

import { type Block, type PanelProps, panel } from './panel.ts'

interface PagerProps extends PanelProps {
  /** The first visible row. */
  at: number
}

export const lastRow = (rows: number, height: number): number => Math.max(0, rows - (height - 2))

export function pager({ title, rows, at, height, ...rest }: PagerProps): Block {
  const start = Math.min(at, lastRow(rows.length, height))
  const more = rows.length - start - (height - 2)
  const place = more > 0 ? `  ${more} more below: j` : start > 0 ? '  the end' : ''
  return panel({ ...rest, title: `${title}${place}`, height, rows: rows.slice(start) })
}
