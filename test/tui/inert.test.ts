import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inert, narrow } from '../../tui/data/inert.ts'
import { createTheme } from '../../tui/screen/theme.ts'
import { fitRow } from '../../tui/widgets/row.ts'
import { createEmulator } from './screen.ts'

/** Sequences that have done harm somewhere: titles, clipboards, links, queries, charsets, C1, bidi, invisible. */
const HOSTILE = [
  '\u001b]52;c;ZXZpbA==\u0007',
  '\u001b]0;owned\u001b\\',
  '\u001b]8;;http://evil\u0007click\u001b]8;;\u0007',
  '\u001b[2J\u001b[H',
  '\u001b[31m',
  '\u001b[6n',
  '\u001bP+q544e\u001b\\',
  '\u001b_app\u001b\\',
  '\u001bc',
  '\u001b(0',
  '\u009b31m',
  '\u009d52;c;eA==\u009c',
  '\u0090q\u009c',
  '\r\n\b\u0007\u0000\u007f\t',
  '\u202e\u2066\u2069\u200f\u061c',
  '\u200b\u200d\u2060\ufeff\u00ad\u180e',
  '\u3164\uffa0\u115f',
  'e\u0301\u0301\u0301',
  '漢字',
  '\u{1f468}\u200d\u{1f469}',
  '\ud800',
  '\u{e0041}\u{e0042}',
  '\u2028\u2029',
]

const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...HOSTILE),
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.string({ maxLength: 4 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

test('whatever a peer writes, only plain one-cell characters reach the screen: 10^5 strings', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const shown = narrow(text)
      expect(
        /[\p{Cc}\p{Cs}\p{M}\p{Zl}\p{Zp}]|[\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u.test(shown),
      ).toBe(false)
    }),
    { numRuns: 100_000 },
  )
}, 60_000)

test('a row of hostile text is exactly as wide as it should be, by an emulator', async () => {
  const theme = createTheme({ ascii: false, color: false, env: {} })
  const emulator = createEmulator(40, 4)
  const answers: string[] = []
  emulator.terminal.onData((data) => answers.push(data))
  const titles: string[] = []
  emulator.terminal.onTitleChange((title) => titles.push(title))
  const texts = fc.sample(hostile, { numRuns: 800, seed: 1 })
  for (const text of texts) {
    emulator.terminal.reset()
    emulator.write(`\u001b[?7l\u001b[1;1H${fitRow(narrow(text), 39, theme)}|`)
    const [row] = await emulator.text()
    expect([...row!]).toHaveLength(40)
    expect(row!.at(-1)).toBe('|')
    expect(emulator.terminal.buffer.active.cursorY).toBe(0)
  }
  expect(answers).toEqual([])
  expect(titles).toEqual([])
})

test('keys of records are made inert, too', () => {
  expect(Object.keys(inert({ refused: { 'a\u001b[2Jb': 1 } }).refused)).toEqual(['a·[2Jb'])
})
