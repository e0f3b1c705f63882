// The screen's last stage: takes whole pictures, has ink lay out the rows that changed (layout.ts), and writes each at its
// position, all in one write. Rows are padded and never erased first, so none flickers if the terminal shows a partial
// write. Auto-wrap is off, so a picture drawn for an earlier, wider window does no harm.

import type { Block } from '../widgets/panel.ts'
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
  let shown: Array<string | undefined> = []
  let current: Block = []
  const draw = (): void => {
    if (!sink.open) return
    const next = Array.from({ length: sink.rows }, (_, i) => current[i] ?? '')
    const changed = next.flatMap((row, i) => (row === shown[i] ? [] : [i]))
    if (changed.length === 0) return
    const laid = layout.lay(
      changed.map((i) => next[i]!),
      sink.columns,
    )
    const out = changed.map((i, n) => `\u001b[${i + 1};1H\u001b[0m${padded(laid[n]!, sink.columns)}`)
    shown = next
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

/** Pads a row with spaces to the full width. Every visible character is one cell, since texts were made narrow. */
function padded(row: string, columns: number): string {
  const missing = columns - visibleWidth(row)
  return missing > 0 ? `${row}\u001b[0m${' '.repeat(missing)}` : row
}

const plain = (row: string): string => row.replace(/\u001b\[[0-9;]*m/g, '')

export function visibleWidth(row: string): number {
  let width = 0
  for (const _ of plain(row)) width += 1
  return width
}
