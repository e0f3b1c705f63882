// The elements of every panel: text, lines, colours, and an axis with round numbers.

export interface Box {
  x: number
  y: number
  width: number
  height: number
}

/**
 * Of Okabe and Ito, which people with any colour vision tell apart; black comes first, for what others are compared
 * with.
 */
export const COLOURS = ['#000000', '#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00']
export const FAINT = '#d9dde3'

export const fixed = (value: number): string => String(Math.round(value * 10) / 10)
export const escaped = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

export function text(
  at: {
    x: number
    y: number
    size?: number
    bold?: boolean
    anchor?: 'start' | 'middle' | 'end'
    colour?: string
  },
  words: string,
): string {
  const { x, y, size = 11, bold = false, anchor = 'start', colour = '#24292f' } = at
  return `<text x="${fixed(x)}" y="${fixed(y)}" font-size="${size}" fill="${colour}" text-anchor="${anchor}"${bold ? ' font-weight="600"' : ''}>${escaped(words)}</text>`
}

export function line(
  from: readonly [number, number],
  to: readonly [number, number],
  { colour, width = 1, dashes }: { colour: string; width?: number; dashes?: string },
): string {
  const [[x1, y1], [x2, y2]] = [from.map(fixed), to.map(fixed)]
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${colour}" stroke-width="${width}"${dashes ? ` stroke-dasharray="${dashes}"` : ''}/>`
}

interface Scale {
  low: number
  high: number
  ticks: readonly number[]
  /** As far along as from 0 to 1. */
  at(value: number): number
  show(tick: number): string
}

/** About five round ticks around the values, which have to be finite. */
export function scaleOf(values: readonly number[]): Scale {
  const bad = values.find((value) => !Number.isFinite(value))
  if (values.length === 0 || bad !== undefined)
    throw new RangeError(`an axis has no place for ${bad ?? 'nothing'}`)
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const rough = (most - least || Math.abs(most) || 1) / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10)
  const [first, last] = [Math.floor(least / step + 1e-9), Math.ceil(most / step - 1e-9)]
  const count = Math.max(1, last - first)
  const ticks = Array.from({ length: count + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9))
  const [low, high] = [ticks[0]!, ticks[count]!]
  return {
    low,
    high,
    ticks,
    at: (value) => (value - low) / (high - low),
    show: (tick) =>
      (tick + 0)
        .toFixed(digits)
        .replace(/^-(?=0(\.0*)?$)/, '')
        .replace('-', '−'),
  }
}
