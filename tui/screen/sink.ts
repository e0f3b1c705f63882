// The screen's last stage: takes whole pictures, has ink lay out the cells that changed (layout.ts), and writes them at
// their positions, all in one write. They are padded and never erased first, so none flickers if the terminal shows a
// partial write. Auto-wrap is off, so a picture drawn for an earlier, wider window does no harm.

import type { Block } from '../widgets/panel.ts'
import { cellsOf, changedRuns, type Run } from './cells.ts'
import type { Layout } from './layout.ts'

interface SinkTarget {
  write(text: string): unknown
}

export interface Sink {
  columns: number
  rows: number
  show(picture: Block): void
  /** Sets the window's new size and forgets what is on it; the next picture is drawn in full. */
  resize(columns: number, rows: number): void
  /** Redraws the last picture at once, in full. */
  repaint(): void
  /** The current rows, without colours. */
  picture(): string[]
  /** While closed, pictures are kept but not written. */
  open: boolean
}

const SYNC_ON = '\u001b[?2026h'
const SYNC_OFF = '\u001b[?2026l'

export function createSink(
  size: { columns: number; rows: number },
  { target, layout }: { target: SinkTarget; layout: Pick<Layout, 'lay'> },
): Sink {
  let shown: Array<{ row: string; cells: readonly string[] }> = []
  let current: Block = []
  const draw = (): void => {
    if (!sink.open) return
    const next = Array.from({ length: sink.rows }, (_, i) => {
      const row = current[i] ?? ''
      return row === shown[i]?.row ? shown[i] : { row, cells: filled(cellsOf(row), sink.columns) }
    })
    const runs = next.flatMap(({ cells }, line) =>
      cells === shown[line]?.cells
        ? []
        : changedRuns(shown[line]?.cells, cells).map((run) => ({ line, ...run })),
    )
    shown = next
    if (runs.length === 0) return
    const laid = layout.lay(
      runs.map(({ text }) => text),
      Math.max(...runs.map(({ width }) => width)),
    )
    const out = runs.map((run, n) => `${position(run)}\u001b[0m${padded(laid[n]!, run.width)}`)
    target.write(`${SYNC_ON}${out.join('')}\u001b[0m${SYNC_OFF}`)
  }
  const sink: Sink = {
    columns: size.columns,
    rows: size.rows,
    open: false,
    show(picture) {
      current = picture
      draw()
    },
    resize(columns, rows) {
      sink.columns = columns
      sink.rows = rows
      shown = []
    },
    picture: () => current.map((row) => plain(row).trimEnd()),
    repaint() {
      shown = []
      draw()
    },
  }
  return sink
}

const position = ({ line, column }: { line: number } & Run): string => `\u001b[${line + 1};${column + 1}H`

/** Exactly as many as the window has. */
const filled = (cells: readonly string[], columns: number): readonly string[] =>
  cells.length === columns ? cells : Array.from({ length: columns }, (_, i) => cells[i] ?? ' ')

/** Spaces at the end, which ink leaves out, are written again: they cover what was there. */
function padded(text: string, width: number): string {
  const missing = width - visibleWidth(text)
  return missing > 0 ? `${text}\u001b[0m${' '.repeat(missing)}` : text
}

const plain = (row: string): string => row.replace(/\u001b\[[0-9;]*m/g, '')

export function visibleWidth(row: string): number {
  let width = 0
  for (const _ of plain(row)) width += 1
  return width
}
