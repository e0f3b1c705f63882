// What the screen writes when one picture follows another.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTheme, type Tone } from '../../tui/screen/theme.ts'
import { fitRow, type Row } from '../../tui/widgets/row.ts'
import { type createEmulator, openSink } from './screen.ts'

const theme = createTheme({ ascii: false, color: true, env: { TERM: 'xterm-256color' } })
const tones: Tone[] = ['plain', 'bold', 'ok', 'attention', 'failure', 'inverse']
const rows = fc.array(
  fc.tuple(fc.constantFrom(...tones), fc.stringMatching(/^[ab █▁]{0,9}$/)).map((piece) => piece),
  { maxLength: 5 },
)

/** Each cell of the first row: its character and how it looks. */
async function cells(emulator: ReturnType<typeof createEmulator>): Promise<string[]> {
  await emulator.text()
  const line = emulator.terminal.buffer.active.getLine(0)!
  return Array.from({ length: emulator.columns }, (_, i) => {
    const cell = line.getCell(i)!
    const looks = [cell.isBold(), cell.isInverse(), cell.getFgColor()].map(Number).join()
    return `${cell.getChars() || ' '} ${looks}`
  })
}

test('whatever was shown before, a row looks as if it were drawn anew', async () => {
  await fc.assert(
    fc.asyncProperty(rows, rows, async (before: Row, after: Row) => {
      const [second, once] = [openSink(30, 2), openSink(30, 2)]
      second.sink.show([fitRow(before, 30, theme)])
      second.sink.show([fitRow(after, 30, theme)])
      once.sink.show([fitRow(after, 30, theme)])
      expect(await cells(second.emulator)).toEqual(await cells(once.emulator))
    }),
    { numRuns: 60, seed: 7 },
  )
})

test('one number that changes is written alone', () => {
  const { sink, emulator } = openSink(110, 3)
  const row = (step: number) => [
    `step ${step}${' '.repeat(80)}up 3 min`.padEnd(110),
    '',
    '│ the same'.padEnd(110),
  ]
  sink.show(row(10))
  const before = emulator.raw().length
  sink.show(row(11))
  expect(
    emulator
      .raw()
      .slice(before)
      .replaceAll(/\u001b\[[?0-9;]*[a-zA-Z]/g, ''),
  ).toBe('1')
})
