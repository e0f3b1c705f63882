import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { prometheusText } from '../../daemon/control/api/prometheus.ts'
import { METRICS } from '../../protocol/api/index.ts'
import { dashboard } from '../../scripts/docs/dashboard.ts'
import { referencePages } from '../../scripts/docs/pages.ts'
import { createScriptedNode } from '../control/scripted-node.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const AGAIN = 'run `node --import tsx scripts/docs/write.ts`'

test.each(Object.entries(referencePages()))('docs/reference/%s says what the code says', (name, text) => {
  const file = join(ROOT, 'docs/reference', name)
  expect(existsSync(file), AGAIN).toBe(true)
  expect(readFileSync(file, 'utf8'), AGAIN).toBe(text)
})

interface Panel {
  id: number
  type: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: Array<{ expr: string; legendFormat: string }>
}
const board = dashboard() as { panels: Panel[] }

test('the dashboard in the repository is the one that the code makes', () => {
  expect(JSON.parse(readFileSync(join(ROOT, 'scripts/service/grafana/waggle.json'), 'utf8')), AGAIN).toEqual(
    board,
  )
})

test('every metric is on the dashboard, and the dashboard has no other', () => {
  const used = new Set(
    board.panels.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) =>
        (expr.match(/(waggle|process)_\w+/g) ?? []).map((name) => name.replace(/_bucket$/, '')),
      ),
    ),
  )
  expect([...used].sort()).toEqual(METRICS.map(({ name }) => name).sort())
})

test('panels do not overlap, and have numbers of their own', () => {
  const taken = new Set<string>()
  for (const { gridPos } of board.panels) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x},${y}`)).toBe(false)
        taken.add(`${x},${y}`)
      }
    }
  }
  expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length)
})

test('labels in legends are labels that the metric has', () => {
  const node = createScriptedNode()
  node.advance(60)
  const text = prometheusText(node.snapshot())
  for (const { expr, legendFormat } of board.panels.flatMap(({ targets = [] }) => targets)) {
    const [name] = /(?:waggle|process)_\w+/.exec(expr)!
    if (name.endsWith('_bucket')) continue
    const line = text.split('\n').find((row) => row.startsWith(`${name}{`) || row.startsWith(`${name} `))
    if (!line) continue
    const labels = [...line.matchAll(/(\w+)="/g)].map(([, label]) => label)
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
      .map(([, label]) => label)
      .filter((label) => label !== 'instance')
    expect([name, shown]).toEqual([name, labels])
  }
})

test('metrics are named as Prometheus wants them', () => {
  expect(new Set(METRICS.map(({ name }) => name)).size).toBe(METRICS.length)
  expect(new Set(METRICS.map(({ series }) => series)).size).toBe(METRICS.length)
  for (const { name, kind, help } of METRICS) {
    expect(name).toMatch(/^(waggle|process)_[a-z][a-z0-9_]*$/)
    expect(name.endsWith('_total')).toBe(kind === 'counter')
    expect(help.length).toBeGreaterThan(5)
  }
})
