import { expect, test } from 'vitest'
import type { PeerInfo } from '../../protocol/api/index.ts'
import { createTheme } from '../../tui/screen/theme.ts'
import { peerRows } from '../../tui/tabs/swarm-peers.ts'
import { fitRow } from '../../tui/widgets/row.ts'
import { type Column, nextOrder, orderBy, sorted, tableHit, tableRows } from '../../tui/widgets/table.ts'

interface Animal {
  name: string
  legs: number
}
const ANIMALS = [
  { name: 'owl', legs: 2 },
  { name: 'elk', legs: 4 },
  { name: 'adder', legs: 0 },
]
const COLUMNS: Array<Column<Animal>> = [
  { title: 'NAME', key: 'A', width: 6, grows: true, drop: 0, text: ({ name }) => name },
  {
    title: 'LEGS',
    key: 'E',
    width: 5,
    align: 'right',
    drop: 1,
    text: ({ legs }) => `${legs}`,
    value: ({ legs }) => legs,
  },
  { title: 'NOTE', width: 5, drop: 2, text: () => '' },
]
const names = (column: string, back = false): string =>
  sorted(ANIMALS, COLUMNS, { column, back })
    .map(({ name }) => name)
    .join(' ')

test('texts are sorted from a to z, numbers from high to low, and back', () => {
  expect(names('NAME')).toBe('adder elk owl')
  expect(names('NAME', true)).toBe('owl elk adder')
  expect(names('LEGS')).toBe('elk owl adder')
  expect(names('LEGS', true)).toBe('adder owl elk')
  expect(sorted(ANIMALS, COLUMNS, undefined)).toEqual(ANIMALS)
})

test('the key of a column sorts by it, and again the other way', () => {
  const once = orderBy({ column: 'NAME', back: true }, 'LEGS')
  expect(once).toEqual({ column: 'LEGS', back: false })
  expect(orderBy(once, 'LEGS')).toEqual({ column: 'LEGS', back: true })
  expect(orderBy(orderBy(once, 'LEGS'), 'LEGS')).toEqual(once)
})

test('the next column is the next one that has a key', () => {
  expect(nextOrder(undefined, COLUMNS).column).toBe('NAME')
  expect(nextOrder({ column: 'LEGS', back: true }, COLUMNS)).toEqual({ column: 'NAME', back: false })
})

const many = Array.from({ length: 40 }, (_, i) => ({ name: `n${i}`, legs: i }))

test.each([0, 7, 20, 39])('what is pressed is what is drawn there, with the cursor on %i', (cursor) => {
  const theme = createTheme({ ascii: true, color: false, env: {} })
  const table = { items: many, columns: COLUMNS, width: 30, height: 9, cursor }
  const drawn = tableRows(table, theme).map((row) => fitRow(row, 30, theme).replaceAll(/\u001b\[\d+m/g, ''))
  for (const [y, row] of drawn.entries()) {
    const hit = tableHit(table, 5, y)
    if (hit && 'item' in hit) expect(row).toContain(` n${hit.item} `)
    else expect(hit).toEqual(y === 0 ? { column: 'NAME' } : undefined)
  }
  for (const { title } of COLUMNS) {
    const x = drawn[0]!.indexOf(title)
    expect(tableHit(table, x + 1, 0)).toEqual({ column: title })
  }
  expect(tableHit(table, 0, 0)).toBeUndefined()
  expect(tableHit(table, 5, 30)).toBeUndefined()
})

test('the share of a peer’s groups that are refused is one of all that came, and below 100 %', () => {
  const counts = { received: 10, verified: 4, trained: 0, refused: 36, reward: 0 }
  const peer = { id: 'p', name: 'p', state: 'up', ...counts } as unknown as PeerInfo
  expect(JSON.stringify(peerRows(peer, undefined, 200))).toContain('refused 36 (90 %)')
})
