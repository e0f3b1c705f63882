import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { drawAll } from '../../scripts/lab/plots/draw.ts'
import { svgOf } from '../../scripts/lab/plots/figure.ts'
import { scaleOf } from '../../scripts/lab/plots/marks.ts'

describe('figures of the results', () => {
  test.each(drawAll().map(({ file, svg }) => ({ name: file.pathname.split('/').at(-1), file, svg })))(
    '$name is what the records say',
    ({ file, svg }) => {
      expect(readFileSync(file, 'utf8')).toBe(svg)
    },
  )

  test('draw a mean where it is on the axis, its interval around it, and nothing for a row without runs', () => {
    const svg = svgOf({
      title: 'a < b',
      panels: [
        {
          kind: 'intervals',
          title: 'of two',
          x: 'reward',
          names: true,
          reference: 0,
          rows: [{ name: 'one', mean: 0.5, half: 0.25 }, { name: 'two', mean: 1 }, { name: 'none' }],
        },
      ],
    })
    expect(svg).toContain('a &lt; b')
    const [zero, one] = [202, 532]
    const circles = [...svg.matchAll(/cx="([\d.]+)"/g)].map(([, x]) => Number(x))
    expect(circles).toEqual([(zero + one) / 2, one])
    expect(svg).toContain(`x1="${zero + 82.5}" y1="77.5" x2="${zero + 247.5}"`)
    expect(svg).toContain('>none<')
  })
})

describe('an axis', () => {
  test.each([
    { values: [0, 80], ticks: ['0', '20', '40', '60', '80'] },
    { values: [0.15, 0.33], ticks: ['0.15', '0.20', '0.25', '0.30', '0.35'] },
    { values: [-18, 18], ticks: ['−20', '−10', '0', '10', '20'] },
    { values: [-0.02, 0.02], ticks: ['−0.02', '−0.01', '0.00', '0.01', '0.02'] },
    { values: [3, 3], ticks: ['3', '4'] },
  ])('of $values has round ticks around them', ({ values, ticks }) => {
    const scale = scaleOf(values)
    const shown = scale.ticks.map(scale.show)
    expect(shown).toEqual(ticks)
    expect(scale.low).toBeLessThanOrEqual(Math.min(...values))
    expect(scale.high).toBeGreaterThanOrEqual(Math.max(...values))
    expect(scale.high).toBeGreaterThan(scale.low)
  })

  test('has no place for what is no number, or for nothing', () => {
    expect(() => scaleOf([1, Number.NaN])).toThrow('no place for NaN')
    expect(() => scaleOf([])).toThrow('no place for nothing')
  })
})
