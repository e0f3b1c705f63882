// A box with a title in its border and rows of text inside; rows that do not fit are left out.

import { Box, Text } from 'ink'
import type { ReactElement } from 'react'
import type { Theme } from '../screen/theme.ts'
import { fitRow, type Row } from './row.ts'

interface PanelProps {
  title: string
  rows: readonly Row[]
  width: number
  height: number
  theme: Theme
}

export function Panel({ title, rows, width, height, theme }: PanelProps): ReactElement {
  return <Text wrap="truncate-end">{panelLines({ title, rows, width, height, theme }).join('\n')}</Text>
}

function panelLines({ title, rows, width, height, theme }: PanelProps): string[] {
  const [topLeft, across, topRight, side, bottomLeft, bottomRight] = theme.symbols.box
  const head = fitRow(
    [['bold', ` ${title} `]],
    Math.min([...title].length + 2, Math.max(0, width - 4)),
    theme,
  )
  const headWidth = Math.min([...title].length + 2, Math.max(0, width - 4))
  const inside = Math.max(0, width - 4)
  const lines = [`${topLeft}${across}${head}${across.repeat(Math.max(0, width - 3 - headWidth))}${topRight}`]
  for (let i = 0; i < height - 2; i++) lines.push(`${side} ${fitRow(rows[i] ?? '', inside, theme)} ${side}`)
  lines.push(`${bottomLeft}${across.repeat(Math.max(0, width - 2))}${bottomRight}`)
  return lines.slice(0, Math.max(0, height))
}

/** Panels side by side. */
export function Side({ children }: { children: ReactElement[] }): ReactElement {
  return <Box flexDirection="row">{children}</Box>
}

/** Plain rows without a box. */
export function Lines({
  rows,
  width,
  theme,
}: {
  rows: readonly Row[]
  width: number
  theme: Theme
}): ReactElement {
  return <Text wrap="truncate-end">{rows.map((row) => fitRow(row, width, theme)).join('\n')}</Text>
}
