// A table of rows under a header. Columns have fixed widths, so nothing jitters, and those that do not fit are dropped
// in a fixed order. The cursor's row is kept in view.

import type { Theme, Tone } from '../screen/theme.ts'
import { cell, type Piece, type Row } from './row.ts'

export interface Column<Item> {
  title: string
  width: number
  /** True for the column that takes the remaining width; at most one. */
  grows?: boolean
  align?: 'left' | 'right'
  /** Columns with the highest number are dropped first if there is no room; 0 is never dropped. */
  drop: number
  text(item: Item): string
  tone?(item: Item): Tone
  /** For sorting; by text if left out. */
  value?(item: Item): number | string
}

interface TableOptions<Item> {
  items: readonly Item[]
  columns: ReadonlyArray<Column<Item>>
  width: number
  /** Number of rows, including the header. */
  height: number
  cursor: number
}

export function tableRows<Item>(options: TableOptions<Item>, { symbols }: Theme): Row[] {
  const { items, width, height } = options
  const columns = fitColumns(options.columns, width - 2)
  const head = columns.map(({ title, width: w, align }) => cell(title, w, align)).join(' ')
  const room = Math.max(1, height - 1)
  const cursor = Math.min(Math.max(0, options.cursor), Math.max(0, items.length - 1))
  // One row is reserved for the number of rows not shown.
  const shown = items.length > room ? room - 1 : room
  const start = Math.max(0, Math.min(cursor - Math.floor(shown / 2), items.length - shown))
  const rows: Row[] = items.slice(start, start + shown).map((item, i) => {
    const chosen = start + i === cursor
    const cells = columns.flatMap((column, k): Piece[] => [
      k > 0 ? ' ' : '',
      [
        column.tone?.(item) ?? (chosen ? 'bold' : 'plain'),
        cell(column.text(item), column.width, column.align),
      ],
    ])
    return [['bold', chosen ? `${symbols.cursor} ` : '  '], ...cells]
  })
  if (items.length > room) rows.push(`  ${symbols.dots} ${items.length - shown} more`)
  return [`  ${head}`, ...rows]
}

function fitColumns<Item>(columns: ReadonlyArray<Column<Item>>, width: number): Array<Column<Item>> {
  const kept = [...columns]
  const total = () => kept.reduce((sum, column) => sum + column.width + 1, -1)
  while (total() > width) {
    const next = Math.max(...kept.map((column) => column.drop))
    if (next === 0) break
    kept.splice(
      kept.findIndex((column) => column.drop === next),
      1,
    )
  }
  const left = width - total()
  return kept.map((column) =>
    column.grows ? { ...column, width: Math.max(4, column.width + left) } : column,
  )
}

/** Sorted by a column, numbers from high to low and texts from a to z. */
export function sortedBy<Item>(items: readonly Item[], column: Column<Item>): Item[] {
  const key = (item: Item) => column.value?.(item) ?? column.text(item)
  return [...items].sort((a, b) => {
    const [x, y] = [key(a), key(b)]
    return typeof x === 'number' && typeof y === 'number' ? y - x : String(x).localeCompare(String(y))
  })
}
