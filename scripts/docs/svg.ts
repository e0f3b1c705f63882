// Terminal screens as one SVG: text as text; blocks, braille and frames as shapes, so that they join in any font. CSS
// cycles through several screens. It has its own background, so it is readable on light and dark pages.

const CELL = { width: 8.4, height: 17 }
const INK = '#d8dee9'
const PAPER = '#14171d'
const MARGIN = 14

export interface Cell {
  text: string
  /** #rrggbb; undefined is the terminal's own. */
  colour: string | undefined
  bold: boolean
  inverse: boolean
}

/** Rows of cells. */
export type Screen = readonly (readonly Cell[])[]

const fixed = (value: number): string => String(Math.round(value * 100) / 100)
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const box = (x: number, y: number, width: number, height: number): string =>
  `M${fixed(x)} ${fixed(y)}h${fixed(width)}v${fixed(height)}h${fixed(-width)}z`

/** Sides of a frame character that a line goes to: left, right, up, down. */
// biome-ignore format: a table
const FRAMES: Record<string, string> = {
  '─': 'lr', '│': 'ud', '┌': 'rd', '╭': 'rd', '┐': 'ld', '╮': 'ld', '└': 'ru', '╰': 'ru', '┘': 'lu', '╯': 'lu',
  '├': 'rud', '┤': 'lud', '┬': 'lrd', '┴': 'lru', '┼': 'lrud',
}

// biome-ignore format: a table
const BRAILLE_DOTS: readonly (readonly [number, number])[] = [
  [0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [0, 3], [1, 3],
]

/** A character as a path in its cell, or undefined if it is for the font. */
function shapeOf(text: string, x: number, y: number): string | undefined {
  const { width, height } = CELL
  const code = text.codePointAt(0) ?? 0
  if (code >= 0x2581 && code <= 0x2588) {
    const share = ((code - 0x2580) / 8) * height
    return box(x, y + height - share, width, share)
  }
  if (code >= 0x2589 && code <= 0x258f) return box(x, y, ((0x2590 - code) / 8) * width, height)
  if (code > 0x2800 && code <= 0x28ff) {
    return BRAILLE_DOTS.filter((_, bit) => (code >> bit) & 1)
      .map(([column, row]) =>
        box(x + (column + 0.22) * (width / 2), y + (row + 0.22) * (height / 4), 2.2, 2.2),
      )
      .join('')
  }
  const sides = FRAMES[text]
  if (sides === undefined) return undefined
  const [middle, centre] = [x + width / 2, y + height / 2]
  const lines: Record<string, string> = {
    l: box(x, centre - 0.5, width / 2 + 0.5, 1),
    r: box(middle - 0.5, centre - 0.5, width / 2 + 0.5, 1),
    u: box(middle - 0.5, y, 1, height / 2 + 0.5),
    d: box(middle - 0.5, centre - 0.5, 1, height / 2 + 0.5),
  }
  return [...sides].map((side) => lines[side]!).join('')
}

function screenBody(screen: Screen): string {
  const shapes = new Map<string, string>()
  const texts: string[] = []
  const draw = (colour: string, path: string): void =>
    void shapes.set(colour, (shapes.get(colour) ?? '') + path)
  screen.forEach((row, r) => {
    const y = r * CELL.height
    for (let c = 0; c < row.length; ) {
      const { colour, bold, inverse, text } = row[c]!
      const ink = colour ?? INK
      const x = c * CELL.width
      const shape = shapeOf(text, x, y)
      if (inverse) draw(ink, box(x, y, CELL.width, CELL.height))
      if (shape !== undefined || (text.trim() === '' && !inverse)) {
        if (shape !== undefined) draw(ink, shape)
        c += 1
        continue
      }
      let run = ''
      const from = c
      for (; c < row.length; c++) {
        const next = row[c]!
        const same = next.colour === colour && next.bold === bold && next.inverse === inverse
        if (!same || shapeOf(next.text, 0, 0) !== undefined) break
        if (inverse && c > from) draw(ink, box(c * CELL.width, y, CELL.width, CELL.height))
        run += next.text || ' '
        if (run.endsWith('  ')) break
      }
      const kept = run.trimEnd()
      if (kept === '') continue
      const width = fixed(kept.length * CELL.width)
      const fill = inverse ? PAPER : ink
      texts.push(
        `<text x="${fixed(x)}" y="${fixed(y + 12.8)}" textLength="${width}"${fill === INK ? '' : ` fill="${fill}"`}${bold ? ' font-weight="bold"' : ''}>${escaped(kept)}</text>`,
      )
    }
  })
  return [...[...shapes].map(([colour, path]) => `<path fill="${colour}" d="${path}"/>`), ...texts].join('\n')
}

export function svgOf(
  screens: readonly Screen[],
  { title, seconds }: { title: string; seconds: number },
): string {
  const [columns, rows] = [screens[0]![0]!.length, screens[0]!.length]
  const width = Math.ceil(columns * CELL.width + 2 * MARGIN)
  const height = Math.ceil(rows * CELL.height + 2 * MARGIN)
  const share = 100 / screens.length
  const style =
    screens.length === 1
      ? ''
      : `<style>.s{visibility:hidden}.s0{visibility:visible}.s{animation:a ${seconds * screens.length}s step-end infinite}` +
        `@keyframes a{0%{visibility:visible}${fixed(share)}%{visibility:hidden}}` +
        `${screens.map((_, i) => `.s${i}{animation-delay:${i * seconds}s}`).join('')}` +
        `@media(prefers-reduced-motion:reduce){.s{animation:none}}</style>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>${style}`,
    `<rect width="${width}" height="${height}" rx="8" fill="${PAPER}"/>`,
    `<g transform="translate(${MARGIN} ${MARGIN})" fill="${INK}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" style="white-space:pre">`,
    ...screens.map((screen, i) => `<g class="s s${i}">\n${screenBody(screen)}\n</g>`),
    '</g></svg>\n',
  ].join('\n')
}
