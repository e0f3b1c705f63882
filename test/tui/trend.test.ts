// Noise is not shown as learning.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import type { SeriesPoint } from '../../protocol/api/index.ts'
import { createTheme } from '../../tui/screen/theme.ts'
import { axisDecimal, lineChart, sparkline } from '../../tui/widgets/chart.ts'
import { evenly } from '../../tui/widgets/curve.ts'
import { trend } from '../../tui/widgets/judge.ts'

const theme = createTheme({ ascii: false, color: false, env: {} })

/** Rewards of steps around a line, each a mean over some groups. */
function rewards(steps: number, { from, to }: { from: number; to: number }, seed: number): SeriesPoint[] {
  const random = randomStream(seed, 'rewards')
  const noise = (): number => (random() + random() + random() - 1.5) * 0.2
  return Array.from({ length: steps }, (_, i) => [
    i * 1000,
    i,
    from + ((to - from) * i) / Math.max(1, steps - 1) + noise(),
  ])
}

describe('a trend', () => {
  test('is not seen in noise, at whatever step it is looked at', () => {
    let runs = 0
    for (let seed = 0; seed < 200; seed++) {
      const points = rewards(240, { from: 0.3, to: 0.3 }, seed)
      if (points.some((_, i) => trend(points.slice(0, i + 1)) !== undefined)) runs += 1
    }
    expect(runs / 200).toBeLessThan(0.1)
  })

  test('is seen once it exceeds the noise, with its size and time', () => {
    const points = rewards(120, { from: 0.2, to: 0.6 }, 1)
    const { change, ms } = trend(points)!
    expect(change).toBeGreaterThan(0.2)
    expect(change).toBeLessThan(0.35)
    expect(ms).toBe(119_000)
    expect(trend(points.slice(0, 11))).toBeUndefined()
  })

  test('is not seen in one step that is looked at again and again', () => {
    const looks = Array.from({ length: 100 }, (_, i): SeriesPoint => [i * 1000, 0, 0.0375 + i * 3.3e-4])
    expect(trend(looks)).toBeUndefined()
  })

  test('is exact where there is no noise', () => {
    const line = Array.from({ length: 30 }, (_, i): SeriesPoint => [i, i, i])
    expect(trend(line)?.change).toBeCloseTo(20)
    expect(trend(line.map(([time, step]): SeriesPoint => [time, step, 5]))).toBeUndefined()
  })
})

describe('an axis', () => {
  const axisOf = (values: number[], options: object): number[] =>
    lineChart({ values }, { width: 60, height: 8, label: axisDecimal, ...options }, theme).flatMap((row) => {
      const mark = /^ *(-?[\d.]+) ┤/.exec(row)?.[1]
      return mark === undefined ? [] : [Number(mark)]
    })

  test('covers the least span, within what is possible', () => {
    const noise = [0.0375, 0.0392, 0.0408]
    expect([axisOf(noise, { span: 0.1 }).at(0), axisOf(noise, { span: 0.1 }).at(-1)]).toEqual([0.1, 0])
    const share = axisOf([0.97, 0.99], { span: 0.1, most: 1 })
    expect([share.at(0), share.at(-1)]).toEqual([1, 0.9])
    expect(axisOf([0.001, 0.002], { span: 0.1, min: 0 })).toContain(0.1)
  })

  test('covers a fifth of the largest value by default', () => {
    const marks = axisOf([100, 101], {})
    expect(marks[0]! - marks.at(-1)!).toBeGreaterThan(19)
  })

  test('is as wide as the values where they differ by more', () => {
    const marks = axisOf([0.2, 0.6], { span: 0.1 })
    expect([marks.at(0), marks.at(-1)]).toEqual([0.6, 0.2])
  })
})

test('few points are drawn as points, many as a line', () => {
  const draw = (points: SeriesPoint[]): string =>
    lineChart({ values: evenly(points, 120) }, { width: 66, height: 8, label: axisDecimal }, theme).join('')
  const few = draw(rewards(3, { from: 0.1, to: 0.9 }, 1))
  expect(few.match(/•/g)).toHaveLength(3)
  expect(few).not.toMatch(/[\u2801-\u28ff]/)
  const many = draw(rewards(60, { from: 0.1, to: 0.9 }, 1))
  expect(many).not.toContain('•')
  expect(many.match(/[\u2801-\u28ff]/g)!.length).toBeGreaterThan(50)
})

test('a sparkline of noise stays level', () => {
  const levels = [...sparkline([0.7, 0.71, 0.7, 0.705], 4, theme)].map((block) =>
    theme.symbols.levels.indexOf(block),
  )
  expect(Math.max(...levels) - Math.min(...levels)).toBeLessThanOrEqual(1)
})
