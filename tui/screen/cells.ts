// A painted row as cells, and where two rows differ: only those cells are laid out and written again.

/** Cells beside one another, of `width`, from a column counted from 0. */
export interface Run {
  column: number
  width: number
  text: string
}

/** Fewer cells than this between two runs cost less than another run. */
const GAP = 8
/** Codes that end what another has begun. */
const ENDS = new Set(['0', '22', '27', '39'])

/** Each cell with all its codes. Every character is one cell wide, and whoever painted the row ended what was begun last. */
export function cellsOf(row: string): readonly string[] {
  if (!row.includes('\u001b')) return [...row]
  const cells: string[] = []
  const begun: string[] = []
  for (const [token, code] of row.matchAll(/\u001b\[([0-9;]*)m|./gsu)) {
    if (code === undefined) cells.push(begun.length > 0 ? `${begun.join('')}${token}\u001b[0m` : token)
    else if (ENDS.has(code)) begun.pop()
    else begun.push(token)
  }
  return cells
}

/** The parts of `next` that differ from `shown`, from left to right; all of it if nothing is shown. */
export function changedRuns(shown: readonly string[] | undefined, next: readonly string[]): Run[] {
  const runs: Array<{ from: number; to: number }> = []
  for (const [at, cell] of next.entries()) {
    if (shown && cell === shown[at]) continue
    const last = runs.at(-1)
    if (last && at - last.to < GAP) last.to = at + 1
    else runs.push({ from: at, to: at + 1 })
  }
  return runs.map(({ from, to }) => ({ column: from, width: to - from, text: next.slice(from, to).join('') }))
}
