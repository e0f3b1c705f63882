import { expect, test } from 'vitest'
import { prometheusText } from '../../daemon/control/api/prometheus.ts'
import { createTotals } from '../../daemon/control/journal/totals.ts'
import { createScriptedNode } from './scripted-node.ts'

test('a value on a bound counts below it, one above all bounds counts last', () => {
  const totals = createTotals()
  totals.group([8, 9, 100_000])
  expect(totals.read().distributions).toEqual({
    completionTokens: {
      bounds: expect.any(Array),
      counts: [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
      sum: 100_017,
    },
  })
})

test('tokens of rounds and steps add up', () => {
  const totals = createTotals()
  totals.round(100)
  totals.round(50)
  totals.step({ ages: [0, 3], realTokens: 70, seconds: 2 })
  expect(totals.read().tokens).toEqual({ sampled: 150, trained: 70 })
  expect(totals.read().distributions?.staleness?.sum).toBe(3)
})

test('a histogram without a value is left out of /metrics', () => {
  expect(prometheusText(createScriptedNode().snapshot())).not.toContain('waggle_training_step_seconds')
})
