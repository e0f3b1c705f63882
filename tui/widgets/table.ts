// A table of rows under a header. Columns have fixed widths, so nothing jitters, and those that do not fit are dropped
// in a fixed order. The cursor's row is kept in view. The letter of a header that is bold sorts by its column.

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
  /** The key that sorts by it: a capital letter of its title. */
  key?: string
  text(item: Item): string
  tone?(item: Item): Tone
  /** For sorting; by text if left out. */
  value?(item: Item): number | string
}

export interface Order {
  /** Title of a column. */
  column: string
  /** From the other end. */
  back: boolean
}

export interface TableOptions<Item> {
  items: readonly Item[]
  columns: ReadonlyArray<Column<Item>>
  width: number
  /** Number of rows, including the header. */
  height: number
  cursor: number
  order?: Order | undefined
}

export function tableRows<Item>(options: TableOptions<Item>, { symbols }: Theme): Row[] {
  const { items, width, order } = options
  const columns = fitColumns(options.columns, width - 2)
  const { start, shown, cursor, isCut } = windowOf(options)
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
  if (isCut) rows.push(`  ${symbols.dots} ${items.length - shown} more`)
  const head = columns.flatMap((column) => [' ', ...headPieces(column, order?.column === column.title)])
  return [[' ', ...head], ...rows]
}

/** The items that are drawn: one row is reserved for the number of those that are not. */
function windowOf({ items, height, cursor }: Pick<TableOptions<unknown>, 'items' | 'height' | 'cursor'>) {
  const room = Math.max(1, height - 1)
  const at = Math.min(Math.max(0, cursor), Math.max(0, items.length - 1))
  const isCut = items.length > room
  const shown = isCut ? room - 1 : room
  const start = Math.max(0, Math.min(at - Math.floor(shown / 2), items.length - shown))
  return { start, shown, cursor: at, isCut }
}

function headPieces({ title, width, align, key }: Column<never>, isSorted: boolean): Piece[] {
  const text = cell(title, width, align)
  const marked = isSorted ? title : (key ?? '')
  const at = marked === '' ? -1 : text.indexOf(marked)
  if (at < 0) return [text]
  return [text.slice(0, at), [isSorted ? 'inverse' : 'bold', marked], text.slice(at + marked.length)]
}

/** What a cell of a table shows, counted from the table's first row and column. */
export type Hit = { item: number } | { column: string }

export function tableHit(table: TableOptions<unknown>, column: number, row: number): Hit | undefined {
  if (row > 0) {
    const { start, shown } = windowOf(table)
    const item = start + row - 1
    return row <= shown && item < table.items.length ? { item } : undefined
  }
  let left = 2
  for (const { title, width } of fitColumns(table.columns, table.width - 2)) {
    if (column >= left && column < left + width) return { column: title }
    left += width + 1
  }
  return undefined
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

/** Sorted by a column, numbers from high to low and texts from a to z, or the other way; as given without an order. */
export function sorted<Item>(
  items: readonly Item[],
  columns: ReadonlyArray<Column<Item>>,
  order: Order | undefined,
): Item[] {
  const column = columns.find(({ title }) => title === order?.column)
  if (!column) return [...items]
  const key = (item: Item) => column.value?.(item) ?? column.text(item)
  const sign = order?.back ? -1 : 1
  return [...items].sort((a, b) => {
    const [x, y] = [key(a), key(b)]
    return (
      sign * (typeof x === 'number' && typeof y === 'number' ? y - x : String(x).localeCompare(String(y)))
    )
  })
}

/** By another column, or by the same from the other end. */
export const orderBy = (order: Order | undefined, column: string): Order => ({
  column,
  back: order?.column === column && !order.back,
})

/** By the next column that has a key. */
export function nextOrder(
  order: Order | undefined,
  columns: ReadonlyArray<Pick<Column<never>, 'title' | 'key'>>,
): Order {
  const keyed = columns.filter(({ key }) => key !== undefined)
  const at = keyed.findIndex(({ title }) => title === order?.column)
  return { column: keyed[(at + 1) % keyed.length]!.title, back: false }
}

/** How a title says it, with two spaces before it; empty without an order. */
export const orderNote = (order: Order | undefined): string =>
  order ? `  sort: ${order.column.toLowerCase()}${order.back ? ', reversed' : ''}` : ''
