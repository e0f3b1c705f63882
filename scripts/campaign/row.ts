// One line of the campaign's table.

export interface Row {
  /** G01 to G40; see docs/results/simulation.md. */
  goal: string
  /** What was tried, and how often. */
  tried: string
  /** What was found. */
  result: string
  /** What the same measurement says without the defence. */
  control: string
  isMet: boolean
}

/** CPU seconds that something took. */
export async function cpuSeconds(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

export const inPercent = (part: number, of: number): string =>
  `${((100 * part) / Math.max(1, of)).toFixed(2)} %`
