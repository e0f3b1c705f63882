// Scrollable text over the body of the screen: help, or a command's output.

import type { ReactElement } from 'react'
import type { Theme } from '../screen/theme.ts'
import { Panel } from './panel.tsx'
import type { Row } from './row.ts'

interface PagerProps {
  title: string
  rows: readonly Row[]
  /** The first visible row. */
  at: number
  columns: number
  height: number
  theme: Theme
}

export const lastRow = (rows: number, height: number): number => Math.max(0, rows - (height - 2))

export function Pager({ title, rows, at, columns, height, theme }: PagerProps): ReactElement {
  const start = Math.min(at, lastRow(rows.length, height))
  const more = rows.length - start - (height - 2)
  const place = more > 0 ? `  ${more} more below: j` : start > 0 ? '  the end' : ''
  return (
    <Panel
      title={`${title}${place}`}
      width={columns}
      height={height}
      theme={theme}
      rows={rows.slice(start)}
    />
  )
}
