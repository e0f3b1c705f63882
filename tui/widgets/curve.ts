// Resamples a series evenly in time for charts, since new points may be dense and old ones sparse.

import type { SeriesPoint } from '../../protocol/api/index.ts'

export interface Window {
  /** Minutes back from the last point; 0 for all. */
  minutes: number
}

export function inWindow(points: readonly SeriesPoint[], { minutes }: Window): readonly SeriesPoint[] {
  const last = points.at(-1)
  if (!last || minutes <= 0) return points
  return points.filter(([time]) => time >= last[0] - minutes * 60_000)
}

/** With fewer points than this, only the points are drawn: a line would make a curve of them. */
const FEW = 20

/** One value per column: the mean of its points; without any, interpolated, or undefined if there are few points. */
export function evenly(points: readonly SeriesPoint[], columns: number): Array<number | undefined> {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last || columns < 1) return []
  const span = last[0] - first[0]
  const values: Array<number | undefined> = []
  let next = 0
  for (let column = 0; column < columns; column++) {
    const end = first[0] + (span * (column + 1)) / columns
    let sum = 0
    let count = 0
    while (next < points.length && (points[next]![0] <= end || column === columns - 1)) {
      sum += points[next]![2]
      count += 1
      next += 1
    }
    if (count > 0) values.push(sum / count)
    else values.push(points.length < FEW ? undefined : between(points[next - 1]!, points[next], end))
  }
  return values
}

function between(a: SeriesPoint, b: SeriesPoint | undefined, time: number): number | undefined {
  return b && a[2] + ((b[2] - a[2]) * (time - a[0])) / (b[0] - a[0])
}
