// Symbols and colours for what the terminal supports. A word or symbol carries the meaning; colour only
// repeats it. Okabe-Ito hues, never red against green. The background is never set, so light terminals work.

export type Tone = 'plain' | 'bold' | 'ok' | 'attention' | 'failure' | 'second' | 'inverse'

export interface Theme {
  ascii: boolean
  /** Wraps text in the codes of a tone; the width does not change. */
  paint(tone: Tone, text: string): string
  symbols: Symbols
}

export interface Symbols {
  up: string
  down: string
  look: string
  failed: string
  rising: string
  falling: string
  steady: string
  cursor: string
  dots: string
  rule: string
  /** top left, horizontal, top right, vertical, bottom left, bottom right */
  box: readonly [string, string, string, string, string, string]
  axis: string
  /** A single value in a chart. */
  point: string
  /** A dashed line across a chart. */
  limit: string
  full: string
  /** Eighths of a cell, from one to seven; empty if unavailable. */
  partial: string
  levels: string
}

const UNICODE: Symbols = {
  up: '●',
  down: '○',
  look: '!',
  failed: '✖',
  rising: '↑',
  falling: '↓',
  steady: '→',
  cursor: '▸',
  dots: '…',
  rule: '─',
  box: ['╭', '─', '╮', '│', '╰', '╯'],
  axis: '┤',
  point: '•',
  limit: '┄',
  full: '█',
  partial: '▏▎▍▌▋▊▉',
  levels: '▁▂▃▄▅▆▇█',
}

const ASCII: Symbols = {
  up: '*',
  down: 'o',
  look: '!',
  failed: 'X',
  rising: '^',
  falling: 'v',
  steady: '=',
  cursor: '>',
  dots: '~',
  rule: '-',
  box: ['+', '-', '+', '|', '+', '+'],
  axis: '|',
  point: '*',
  limit: '.',
  full: '#',
  partial: '',
  levels: '_.-=+*#',
}

const ESC = '\u001b['
const BOLD = [`${ESC}1m`, `${ESC}22m`] as const
const INVERSE = [`${ESC}7m`, `${ESC}27m`] as const
const hue = (n: number) => [`${ESC}38;5;${n}m`, `${ESC}39m`] as const
const basic = (n: number) => [`${ESC}${n}m`, `${ESC}39m`] as const

type Codes = ReadonlyArray<readonly [string, string]>
const PALETTES: Record<'none' | 'basic' | 'full' | 'light', Record<Tone, Codes>> = {
  none: {
    plain: [],
    bold: [BOLD],
    ok: [],
    attention: [BOLD],
    failure: [INVERSE],
    second: [],
    inverse: [INVERSE],
  },
  basic: {
    plain: [],
    bold: [BOLD],
    ok: [basic(36)],
    attention: [basic(33)],
    failure: [INVERSE, basic(35)],
    second: [],
    inverse: [INVERSE],
  },
  full: {
    plain: [],
    bold: [BOLD],
    ok: [hue(75)],
    attention: [hue(214)],
    failure: [INVERSE, hue(202)],
    second: [hue(214)],
    inverse: [INVERSE],
  },
  // The same hues, dark enough to be read on white.
  light: {
    plain: [],
    bold: [BOLD],
    ok: [hue(25)],
    attention: [hue(130)],
    failure: [INVERSE, hue(160)],
    second: [hue(130)],
    inverse: [INVERSE],
  },
}

/** `light` is for light backgrounds, `mono` has no colours. */
export type ThemeName = 'default' | 'light' | 'mono'

interface ThemeOptions {
  ascii: boolean
  theme?: ThemeName
  color: boolean
  env: Record<string, string | undefined>
}

export function createTheme({ ascii, theme = 'default', color, env }: ThemeOptions): Theme {
  const term = env.TERM ?? ''
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
  const plainGlyphs = ascii || term === 'linux' || (locale !== '' && !/utf-?8/i.test(locale))
  const many = /256|truecolor|24bit|direct/.test(`${term} ${env.COLORTERM ?? ''}`)
  const coloured = many ? (theme === 'light' ? 'light' : 'full') : 'basic'
  const palette = PALETTES[color && theme !== 'mono' ? coloured : 'none']
  return {
    ascii: plainGlyphs,
    symbols: plainGlyphs ? ASCII : UNICODE,
    paint: (tone, text) => palette[tone].reduce((inner, [on, off]) => `${on}${inner}${off}`, text),
  }
}
