import { expect, test } from 'vitest'
import type { SeriesPoint } from '../../protocol/api/index.ts'
import { visibleWidth } from '../../tui/screen/sink.ts'
import { createTheme } from '../../tui/screen/theme.ts'
import { harmPieces, learntPieces } from '../../tui/tabs/overview-parts.ts'
import { axisDecimal, axisPercent, bar, lineChart, sparkline } from '../../tui/widgets/chart.ts'
import { evenly } from '../../tui/widgets/curve.ts'
import { fitRow, rowWidth, spread } from '../../tui/widgets/row.ts'
import { wrapLines } from '../../tui/widgets/wrap.ts'

const theme = createTheme({ ascii: false, color: false, env: {} })
const colour = createTheme({ ascii: false, color: true, env: { TERM: 'xterm-256color' } })
const ascii = createTheme({ ascii: true, color: false, env: {} })
const label = (v: number) => v.toFixed(2)

test('a chart is exactly as large as asked, for any data', () => {
  for (const values of [
    [],
    [1],
    [1, 1, 1],
    [0, 1, 0, 1],
    [Number.NaN, 1, 2],
    Array.from({ length: 5000 }, Math.sin),
    [1e-9, 2e9],
  ]) {
    for (const [width, height] of [
      [60, 8],
      [20, 3],
      [7, 1],
      [100, 20],
    ] as const) {
      for (const t of [theme, ascii]) {
        const rows = lineChart({ values }, { width, height, label }, t)
        expect(rows).toHaveLength(height)
        for (const row of rows) expect([...row].length).toBe(width)
      }
    }
  }
})

test.each([
  ['close together', 0.30001, 0.30009],
  ['almost nothing', 0, 3e-7],
  ['wide', 0, 4000],
  ['flat', 0.5, 0.5],
])('marks on an axis differ from one another: %s', (_, low, high) => {
  for (const axis of [axisDecimal, axisPercent, (v: number) => v.toFixed(3)]) {
    const values = Array.from({ length: 40 }, (__, i) => low + ((high - low) * i) / 39)
    const marks = lineChart({ values }, { width: 60, height: 8, label: axis }, theme).flatMap(
      (row) => /^ *(\S.*?) ┤/.exec(row)?.[1] ?? [],
    )
    expect(new Set(marks).size).toBe(marks.length)
    // One that knows the span has something to say at more than two places.
    if (high > low && axis.length === 2) expect(marks.length).toBeGreaterThan(2)
  }
})

test('a curve that has not arrived says so', () => {
  const rows = lineChart({ values: [] }, { width: 40, height: 3, label, empty: 'loading' }, theme)
  expect(rows.join('')).toContain('loading')
})

test('a rising line rises', () => {
  const rows = lineChart({ values: [0, 1] }, { width: 20, height: 4, label }, theme)
  expect(rows[0]!.trimEnd()).toHaveLength(20)
  expect(rows[0]).toMatch(/^1\.00 ┤/)
  expect(rows[3]).toMatch(/^0\.00 ┤[^ ]/)
})

test('bars fill by eighths and keep their width', () => {
  expect(bar(0.5, 4, theme)).toBe('██  ')
  expect(bar(1, 3, theme)).toBe('███')
  expect(bar(0.0626, 2, theme)).toBe('▏ ')
  expect(bar(2, 3, theme)).toBe('███')
  expect(bar(undefined, 3, theme)).toBe('   ')
  expect(bar(0.5, 4, ascii)).toBe('##  ')
})

test('sparklines take the newest to the right', () => {
  expect(sparkline([0, 1], 4, theme)).toBe('  ▁█')
  expect(sparkline([], 4, theme)).toBe('    ')
  expect([
    ...sparkline(
      Array.from({ length: 99 }, (_, i) => i),
      5,
      theme,
    ),
  ]).toHaveLength(5)
})

test('rows are cut between words and filled by what is seen, not by colour codes', () => {
  const row = [['ok', 'good'], ' and ', ['bold', 'bold']] as const
  expect(visibleWidth(fitRow(row, 15, theme))).toBe(15)
  const plain = fitRow(row, 8, colour).replace(/\u001b\[[0-9;]*m/g, '')
  expect(plain).toBe('good…   ')
  expect(fitRow(spread('left', 'right', 12), 12, theme)).toBe('left   right')
  expect(fitRow(spread('much too long', 'right', 12), 12, theme)).toBe('much   right')
})

test('a curve is even in time however its points lie', () => {
  const dense = Array.from({ length: 20 }, (_, i): SeriesPoint => [1000 + 10 * i, 1 + i, 10 + i / 10])
  const values = evenly([[0, 0, 0], ...dense, [2000, 21, 20]], 5)
  expect(values).toHaveLength(5)
  for (let i = 1; i < values.length; i++) expect(values[i]!).toBeGreaterThan(values[i - 1]!)
})

test.each([
  ['alone', { own: 1204, foreign: 0, peers: 0 }],
  ['with peers', { own: 48_120, foreign: 151_000, peers: 1024 }],
  ['with peers that an older checkpoint did not count', { own: 48_120, foreign: 151_000, peers: 0 }],
] as const)('what the model has learnt from is said in whole words at every width: %s', (_, life) => {
  const rollouts = {
    ...{ trainedOwn: life.own, trainedForeign: life.foreign, trainedPeers: life.peers },
    trainedLastHour: { own: 120, foreign: life.foreign && 130, peers: life.peers && 3 },
  }
  for (let width = 34; width <= 120; width++) {
    const row = learntPieces({ snapshot: { rollouts } as never }, theme, width)
    expect(rowWidth(row)).toBeLessThanOrEqual(width)
    expect(fitRow(row, width, theme)).toMatch(
      life.foreign ? /^learnt .*48.1 k.*151 k/ : /^learnt .*1,204|1\.20 k/,
    )
  }
})

test.each(['helps', 'hurts', 'no difference', 'not yet known'] as const)(
  'whether peers hurt is said in whole words at every width: %s',
  (verdict) => {
    const sharing = { verdict, comparisons: 1, needed: 12, foreign: 4 }
    for (let width = 40; width <= 120; width++) {
      const row = harmPieces({ snapshot: { sharing } as never }, width)!
      expect(rowWidth(row)).toBeLessThanOrEqual(width)
      expect(fitRow(row, width, theme)).toMatch(/hurt/)
    }
  },
)

test('a long text in the last column of a table stays in that column', () => {
  const table = [
    'NAME     STEPS  WHAT',
    'sorting     20  a small model learns to sort',
    'shop         9  it asks',
  ]
  expect(wrapLines([...table, 'Learnt by a small model; see also `recipes`.'], 40)).toEqual([
    'NAME     STEPS  WHAT',
    'sorting     20  a small model learns to',
    '                sort',
    'shop         9  it asks',
    'Learnt by a small model; see also',
    '`recipes`.',
  ])
})

test('columns of a table that do not fit stand below, in line with their heads', () => {
  const table = [
    'NAME  STATE    IN  PEER',
    'a     mesh      7  12D3KooWaaaaaaaa',
    'bcd   direct  140  12D3KooWb',
  ]
  expect(wrapLines(table, 24)).toEqual([
    ...['NAME  STATE    IN', '  PEER', 'a     mesh      7', '  12D3KooWaaaaaaaa'],
    ...['bcd   direct  140', '  12D3KooWb'],
  ])
})

test('a path or peer ID that does not fit in its column stands below in one piece', () => {
  const path = `/home/${'d'.repeat(24)}`
  expect(wrapLines(['STEP  FOLDER', `  50  ${path}`, ''], 32)).toEqual([
    ...['STEP', '  FOLDER', '  50', `  ${path}`, ''],
  ])
})

test('one line that is too long does not break the others', () => {
  const long = `home    /${'d'.repeat(24)}`
  expect(wrapLines(['node    24.21.0', long, 'memory  16.8 GB'], 30)).toEqual([
    ...['node    24.21.0', 'home', `  /${'d'.repeat(24)}`, 'memory  16.8 GB'],
  ])
})
