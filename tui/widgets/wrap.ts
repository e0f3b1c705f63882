// Breaks text into rows of a given width, at spaces if possible. Each character counts as one cell.

export function wrapText(text: string, width: number): string[] {
  if (width < 1) return []
  return text.split('\n').flatMap((line) => wrapLine([...line], width))
}

function wrapLine(characters: string[], width: number): string[] {
  const rows: string[] = []
  let rest = characters
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width)
    const at = space > width / 2 ? space : width
    rows.push(rest.slice(0, at).join(''))
    rest = rest.slice(rest[at] === ' ' ? at + 1 : at)
  }
  return [...rows, rest.join('')]
}

/** Least width of a last column whose texts are broken in it. */
const COLUMN = 24

/** The same for lines among which are tables: columns that do not fit stand below, and long texts stay in the last one. */
export function wrapLines(lines: readonly string[], width: number): string[] {
  const rows: string[] = []
  for (let from = 0; from < lines.length; ) {
    const head = lines[from]!
    let gaps = [...head].map((_, at) => at).filter((at) => at > 0 && isGap(head, at))
    let to = from + 1
    for (; to < lines.length && lines[to] !== ''; to++) {
      const common = gaps.filter((at) => isGap(lines[to]!, at))
      if (common.length === 0) break
      gaps = common
    }
    const starts = gaps.filter((at) => !gaps.includes(at + 1)).map((at) => at + 2)
    rows.push(...wrapTable(lines.slice(from, to), starts, width).flat())
    from = to
  }
  return rows
}

/** Two spaces, or the end of the line. */
const isGap = (line: string, at: number): boolean => line.slice(at, at + 2).trim() === ''

/** The rows of each line. `starts`: where columns begin, but for the first. */
function wrapTable(lines: readonly string[], starts: readonly number[], width: number): string[][] {
  const last = starts.at(-1)
  const long = lines.filter((line) => line.length > width).length
  if (last === undefined || long === 0) return lines.map((line) => wrapText(line, width))
  const room = width - last
  const isCut = (line: string): boolean =>
    line
      .slice(last)
      .split(' ')
      .some((word) => word.length > room)
  if (room >= COLUMN && !lines.some(isCut))
    return lines.map((line) =>
      wrapText(line.slice(last), room).map(
        (row, i) => (i === 0 ? line.slice(0, last) : ' '.repeat(last)) + row,
      ),
    )
  // A table is broken as a whole, and a single line by itself.
  if (2 * long < lines.length) return lines.flatMap((line) => wrapTable([line], starts, width))
  const cut = starts.findLast((start) => start <= width + 2) ?? starts[0]!
  const below = wrapTable(
    lines.map((line) => line.slice(cut)),
    starts.filter((start) => start > cut).map((start) => start - cut),
    width - 2,
  )
  return lines.map((line, i) => [
    ...wrapText(line.slice(0, cut).trimEnd(), width),
    ...below[i]!.filter((row) => row !== '').map((row) => `  ${row}`),
  ])
}
