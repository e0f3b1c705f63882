// Rows of a picture, laid out by ink: one that is wider than the window ends in an ellipsis, however wide its characters
// are. Only rows that changed are given to it, because laying out a whole picture takes four times as long.

import { EventEmitter } from 'node:events'
import { Box, render, Text } from 'ink'
import { createElement } from 'react'

export interface Layout {
  /** The rows as they fit into so many columns; without spaces at their ends. */
  lay(rows: readonly string[], columns: number): readonly string[]
  close(): void
}

export function createLayout(): Layout {
  let laid: readonly string[] = []
  const stdout = Object.assign(new EventEmitter(), {
    columns: 80,
    // Without it, ink looks for the size of the terminal whenever it lays out.
    rows: 24,
    write(frame: string) {
      laid = frame.split('\n')
      return true
    },
  })
  // In debug mode ink hands over a whole frame at once, and leaves the cursor and the keys to others.
  const app = render(null, {
    ...{
      debug: true,
      interactive: true,
      exitOnCtrlC: false,
      patchConsole: false,
      isScreenReaderEnabled: false,
    },
    stdout: stdout as unknown as NodeJS.WriteStream,
    stdin: new EventEmitter() as unknown as NodeJS.ReadStream,
  })
  return {
    lay(rows, columns) {
      stdout.columns = columns
      app.rerender(
        createElement(
          Box,
          { flexDirection: 'column', width: columns },
          // ink leaves out a row without a character.
          rows.map((row, i) => createElement(Text, { key: i, wrap: 'truncate-end' }, row || ' ')),
        ),
      )
      return laid
    },
    close: () => app.unmount(),
  }
}
