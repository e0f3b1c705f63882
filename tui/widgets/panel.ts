// Blocks of the screen: painted rows, each exactly as wide as the block. A box with a title in its border, plain rows, and
// blocks side by side. Rows that do not fit are left out.

import type { Theme } from '../screen/theme.ts'
import { fitRow, type Row, shortText } from './row.ts'

export type Block = readonly string[]

export interface PanelProps {
  title: string
  rows: readonly Row[]
  width: number
  height: number
  theme: Theme
}

export function panel({ title, rows, width, height, theme }: PanelProps): Block {
  const [topLeft, across, topRight, side, bottomLeft, bottomRight] = theme.symbols.box
  const named = ` ${shortText(title, width - 6)} `
  const headWidth = Math.min([...named].length, Math.max(0, width - 4))
  const head = fitRow([['bold', named]], headWidth, theme)
  const inside = Math.max(0, width - 4)
  const lines = [`${topLeft}${across}${head}${across.repeat(Math.max(0, width - 3 - headWidth))}${topRight}`]
  for (let i = 0; i < height - 2; i++) lines.push(`${side} ${fitRow(rows[i] ?? '', inside, theme)} ${side}`)
  lines.push(`${bottomLeft}${across.repeat(Math.max(0, width - 2))}${bottomRight}`)
  return lines.slice(0, Math.max(0, height))
}

/** Blocks of equal height side by side. */
export const beside = (first: Block, ...others: Block[]): Block =>
  first.map((row, i) => row + others.map((block) => block[i] ?? '').join(''))

/** Rows without a box. */
export const plainRows = (rows: readonly Row[], width: number, theme: Theme): Block =>
  rows.map((row) => fitRow(row, width, theme))
