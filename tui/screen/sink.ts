// The screen's last stage: takes whole frames and writes only the changed rows, each at its position, in one
// write. ink only does the layout and never moves the cursor. Rows are padded and never erased first, so none
// flickers if the terminal shows a partial write. Auto-wrap is off, so a frame drawn for an earlier, wider
// window does no harm.

import { EventEmitter } from 'node:events'

interface SinkTarget {
  write(text: string): unknown
  columns?: number
  rows?: number
}

export interface Sink extends EventEmitter {
  // What ink expects of a stdout:
  readonly isTTY: true
  columns: number
  rows: number
  write(frame: string): boolean
  // And what the screen needs:
  /** Sets the window's new size and forgets the picture. */
  resize(columns: number, rows: number): void
  /** Redraws the last frame at once, and the next frame in full. */
  repaint(): void
  /** The current rows, without colours. */
  picture(): string[]
  /** While closed, frames are kept but not written. */
  open: boolean
}

const PASTE_MODE = /^\u001b\[\?2004[hl]$/
const SYNC_ON = '\u001b[?2026h'
const SYNC_OFF = '\u001b[?2026l'

export function createSink(target: SinkTarget, size: { columns: number; rows: number }): Sink {
  let shown: string[] = []
  let frame = ''
  const emitter = new EventEmitter()
  const draw = (): void => {
    if (!sink.open) return
    const rows = frame.split('\n').slice(0, sink.rows)
    let out = ''
    for (let i = 0; i < sink.rows; i++) {
      const row = padded(rows[i] ?? '', sink.columns)
      if (row === shown[i]) continue
      out += `\u001b[${i + 1};1H\u001b[0m${row}`
      shown[i] = row
    }
    if (out !== '') target.write(`${SYNC_ON}${out}\u001b[0m${SYNC_OFF}`)
  }
  const sink: Sink = Object.assign(emitter, {
    isTTY: true as const,
    columns: size.columns,
    rows: size.rows,
    open: false,
    write(text: string): boolean {
      // The terminal's modes are set where it is entered and left (terminal.ts).
      if (PASTE_MODE.test(text)) return true
      // ink sometimes ends a frame with a newline, and writes an empty one when it is unmounted.
      const next = text.endsWith('\n') ? text.slice(0, -1) : text
      if (next !== '') {
        frame = next
        draw()
      }
      return true
    },
    resize(columns: number, rows: number): void {
      sink.columns = columns
      sink.rows = rows
      shown = []
      // On this event ink lays out the frame again, which draws it.
      emitter.emit('resize')
    },
    picture: () => frame.split('\n').map((row) => plain(row).trimEnd()),
    repaint(): void {
      shown = []
      draw()
    },
  })
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
