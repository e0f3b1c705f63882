// Rows as ink lays them out.

import { afterAll, expect, test } from 'vitest'
import { createLayout } from '../../tui/screen/layout.ts'

const layout = createLayout()
afterAll(layout.close)

test('a row that fits stays as it is, with its colours, and an empty one is kept', () => {
  const rows = ['\u001b[31mred\u001b[39m', '', 'plain']
  expect(layout.lay(rows, 40)).toEqual(rows)
})

test('a row that is too wide ends in an ellipsis, whatever its characters are wide', () => {
  expect(layout.lay(['x'.repeat(60), '界'.repeat(30)], 10)).toEqual([`${'x'.repeat(9)}…`, '界界界界…'])
})

test('the same rows are laid out anew for a window of another width', () => {
  const row = ['0123456789']
  expect(layout.lay(row, 10)).toEqual(row)
  expect(layout.lay(row, 6)).toEqual(['01234…'])
  expect(layout.lay(row, 10)).toEqual(row)
})
