// Statistics over several runs: means, 95 % intervals over seeds, and tables.

/** 97.5 % quantiles of Student's t for 1, 2, 3 ... degrees of freedom. */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086,
]

export interface Summary {
  mean: number
  /** Half-width of the 95 % interval over runs; undefined for a single one. */
  half: number | undefined
  runs: number
}

export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}

export function summary(values: readonly number[]): Summary {
  const centre = mean(values)
  const freedom = values.length - 1
  const variance = values.reduce((sum, x) => sum + (x - centre) ** 2, 0) / Math.max(1, freedom)
  return {
    mean: centre,
    half: freedom < 1 ? undefined : (T[freedom - 1] ?? 1.96) * Math.sqrt(variance / values.length),
    runs: values.length,
  }
}

export function show({ mean: centre, half }: Summary, digits = 3): string {
  return half === undefined ? centre.toFixed(digits) : `${centre.toFixed(digits)} ± ${half.toFixed(digits)}`
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** How many different held-out questions runs were evaluated on, for a table's heading. */
export function questionsOf(runs: readonly { questions?: number }[]): string {
  const counts = [...new Set(runs.map(({ questions }) => questions ?? 'an uncounted number of'))]
  return `${counts.join(' or ')} different held-out questions`
}
