// Curves, sparklines and bars as lines of text. Pure: numbers in, characters out, always exactly the
// requested size.

import type { Symbols, Theme } from '../screen/theme.ts'

interface Curve {
  /** Evenly spaced in time or steps; undefined where there is no value. */
  values: ReadonlyArray<number | undefined>
}

export interface ChartOptions {
  width: number
  height: number
  /** Formats a number on an axis of this span. */
  label: (value: number, span: number) => string
  min?: number
  /**
   * The axis covers at least this much, so that noise does not fill the chart. Default: a fifth of the largest value.
   */
  span?: number
  /** The largest possible value, such as 1 for a share. */
  most?: number
  /** A reference value, drawn as a dashed line if it is within the range. */
  limit?: number
  /** Shown instead of a curve without values. */
  empty?: string
  /** Logarithmic scale; values that are not positive are left out. */
  logarithm?: boolean
}

/** The bit of each dot in a braille cell, by row and column. */
const DOT = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const

/** A line chart with a labelled axis on the left. Values without neighbours are drawn as single points. */
export function lineChart(given: Curve, options: ChartOptions, theme: Theme): string[] {
  if (options.logarithm) return logarithmic(given, options, theme)
  const curve = given
  const { width, height, label, empty = 'no data yet' } = options
  const values = curve.values.map((v) => (v === undefined || !Number.isFinite(v) ? undefined : v))
  const known = values.filter((v) => v !== undefined)
  if (known.length < 1 || height < 1) return centred(empty, width, height)
  const { low, high } = range(known, options)
  const marks = axisMarks(low, high, height)
  const labels = withoutRepeats(marks.map((value) => (value === undefined ? '' : label(value, high - low))))
  const gutter = Math.max(...labels.map((text) => text.length)) + 1
  const plotWidth = width - gutter - 1
  if (plotWidth < 4) return centred('', width, height)
  const plot = theme.ascii
    ? plotAscii(values, plotWidth, height, low, high)
    : plotBraille(values, { width: plotWidth, height, low, high, point: theme.symbols.point })
  const { limit } = options
  if (limit !== undefined && limit >= low && limit <= high) {
    const at = Math.round(((high - limit) / (high - low)) * (height - 1))
    plot[at] = plot[at]!.replaceAll(' ', theme.symbols.limit)
  }
  return plot.map(
    (row, i) => `${labels[i]!.padStart(gutter - 1)} ${labels[i] ? theme.symbols.axis : ' '}${row}`,
  )
}

function logarithmic({ values }: Curve, options: ChartOptions, theme: Theme): string[] {
  const { label, min: _min, span: _span, most: _most, limit, ...rest } = options
  return lineChart(
    { values: values.map((v) => (v === undefined || v <= 0 ? undefined : Math.log10(v))) },
    {
      ...rest,
      label: (v) => label(10 ** v, 10 ** v),
      logarithm: false,
      // A factor of two.
      span: Math.log10(2),
      ...(limit !== undefined && limit > 0 ? { limit: Math.log10(limit) } : {}),
    },
    theme,
  )
}

/** The range of the values, widened evenly to the least span and kept within what is possible. */
function range(
  known: readonly number[],
  { min, span, most }: Pick<ChartOptions, 'min' | 'span' | 'most'>,
): { low: number; high: number } {
  const [least, greatest] = [Math.min(...known), Math.max(...known)]
  const wanted = span ?? (Math.max(Math.abs(least), Math.abs(greatest)) / 5 || 0.1)
  const pad = Math.max(0, (wanted - (greatest - least)) / 2)
  let [low, high] = [least - pad, greatest + pad]
  const floor = min ?? (least >= 0 ? 0 : Number.NEGATIVE_INFINITY)
  if (min !== undefined || low < floor) [low, high] = [floor, Math.max(greatest, floor + wanted)]
  if (most !== undefined && high > most && greatest <= most)
    [low, high] = [Math.min(low, most - wanted), most]
  return { low: min ?? low, high }
}

/** Removes labels that repeat the one above. */
function withoutRepeats(labels: readonly string[]): string[] {
  let last = ''
  return labels.map((text) => {
    if (text === '' || text === last) return ''
    last = text
    return text
  })
}

/** Values to label on the axis, by row: top, bottom, and some between. */
function axisMarks(low: number, high: number, height: number): Array<number | undefined> {
  const every = height <= 4 ? 1 : 2
  return Array.from({ length: height }, (_, row) => {
    if (height > 1 && row % every !== 0 && row !== height - 1) return undefined
    if (every === 2 && row === height - 2 && (height - 1) % 2 !== 0) return undefined
    return high - ((high - low) * row) / Math.max(1, height - 1)
  })
}

/** Decimal places needed to tell neighbouring axis labels apart. */
function digitsFor(span: number): number {
  return span > 0 ? Math.min(8, Math.max(0, Math.ceil(-Math.log10(span / 8)))) : 2
}

/** A number with the decimal places for an axis of this span. */
export const axisDecimal = (value: number, span: number): string =>
  span > 0 && span < 1e-4 && Math.abs(value) < 10 * span
    ? value.toExponential(1)
    : value.toFixed(digitsFor(span))

/** The same for a share, in percent. */
export const axisPercent = (value: number, span: number): string =>
  `${(value * 100).toFixed(digitsFor(span * 100))} %`

/** One value per column: the mean of those in it, or interpolated if values are sparse. */
function columnsOf(values: Curve['values'], columns: number): Array<number | undefined> {
  return Array.from({ length: columns }, (_, i) => {
    if (values.length < columns) return between(values, (i * (values.length - 1)) / Math.max(1, columns - 1))
    const start = Math.floor((i * values.length) / columns)
    const end = Math.max(start + 1, Math.floor(((i + 1) * values.length) / columns))
    const inside = values.slice(start, end).filter((v): v is number => v !== undefined && Number.isFinite(v))
    return inside.length === 0 ? undefined : inside.reduce((a, b) => a + b, 0) / inside.length
  })
}

function between(values: Curve['values'], position: number): number | undefined {
  const before = values[Math.floor(position)]
  const after = values[Math.ceil(position)]
  if (before === undefined || after === undefined) return undefined
  return before + (after - before) * (position - Math.floor(position))
}

interface Plot {
  width: number
  height: number
  low: number
  high: number
  /** Drawn for a value without neighbours, because a single dot is hardly visible. */
  point: string
}

function plotBraille(values: Curve['values'], { width, height, low, high, point }: Plot): string[] {
  const cells = Array.from({ length: height }, () => new Uint8Array(width))
  const points = new Map<number, Set<number>>()
  const rows = height * 4
  const y = (value: number) =>
    Math.min(rows - 1, Math.max(0, Math.round(((high - value) / (high - low)) * (rows - 1))))
  let before: number | undefined
  const columns = columnsOf(values, width * 2)
  columns.forEach((value, x) => {
    if (value === undefined) {
      before = undefined
      return
    }
    const at = y(value)
    if (columns[x - 1] === undefined && columns[x + 1] === undefined) {
      const row = at >> 2
      points.set(row, (points.get(row) ?? new Set()).add(x >> 1))
    }
    // Join neighbouring points by a vertical run, so that a steep curve has no gaps.
    const [from, to] =
      before === undefined
        ? [at, at]
        : at > before
          ? [before + 1, at]
          : at < before
            ? [at, before - 1]
            : [at, at]
    for (let dot = from; dot <= to; dot++) cells[dot >> 2]![x >> 1]! |= DOT[dot & 3]![x & 1]!
    before = at
  })
  return cells.map((row, r) =>
    [...row]
      .map((bits, c) =>
        points.get(r)?.has(c) ? point : bits === 0 ? ' ' : String.fromCharCode(0x2800 + bits),
      )
      .join(''),
  )
}

function plotAscii(
  values: Curve['values'],
  width: number,
  height: number,
  low: number,
  high: number,
): string[] {
  const cells = Array.from({ length: height }, () => new Array<string>(width).fill(' '))
  columnsOf(values, width).forEach((value, x) => {
    if (value === undefined) return
    const row = Math.round(((high - value) / (high - low)) * (height - 1))
    cells[Math.min(height - 1, Math.max(0, row))]![x] = '*'
  })
  return cells.map((row) => row.join(''))
}

function centred(text: string, width: number, height: number): string[] {
  const middle = Math.floor((height - 1) / 2)
  return Array.from({ length: Math.max(0, height) }, (_, i) => {
    if (i !== middle) return ' '.repeat(width)
    const left = Math.max(0, Math.floor((width - text.length) / 2))
    return (' '.repeat(left) + text).slice(0, width).padEnd(width)
  })
}

/**
 * The newest values as blocks, one per column, scaled to their own range, or to a fifth of the largest value if they
 * differ by less.
 */
export function sparkline(
  values: ReadonlyArray<number | undefined>,
  width: number,
  { symbols }: Theme,
): string {
  if (width <= 0) return ''
  const known = values.filter((v): v is number => v !== undefined && Number.isFinite(v))
  if (known.length === 0) return ' '.repeat(width)
  const shown = values.length > width ? columnsOf(values, width) : [...values]
  const { low, high } = range(known, {})
  const span = high - low
  const levels = [...symbols.levels]
  const blocks = shown.map((v) => {
    if (v === undefined || !Number.isFinite(v)) return ' '
    const share = (v - low) / span
    return levels[Math.min(levels.length - 1, Math.floor(share * levels.length))]!
  })
  return blocks.join('').padStart(width)
}

/** A share from 0 to 1 as a bar of exactly `width` cells. */
export function bar(share: number | undefined, width: number, { symbols }: { symbols: Symbols }): string {
  if (width <= 0) return ''
  const clamped = share === undefined || !Number.isFinite(share) ? 0 : Math.min(1, Math.max(0, share))
  const eighths = Math.round(clamped * width * 8)
  const full = Math.floor(eighths / 8)
  const rest = symbols.partial === '' || full >= width ? '' : (symbols.partial[(eighths % 8) - 1] ?? '')
  return (symbols.full.repeat(full) + rest).padEnd(width)
}
