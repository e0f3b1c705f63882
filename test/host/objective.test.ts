// The objective as corrections make it: what does not fit is told when it is put together, not in the middle of a step.

import { describe, expect, test } from 'vitest'
import { assembleObjective } from '../../daemon/host/objective.ts'
import { rowsByAuthor } from '../../daemon/trainer/rows.ts'
import { CORRECTIONS } from '../../plugins/corrections/index.ts'
import { type Correction, expression } from '../../protocol/plugin/index.ts'
import { withSettings } from '../../protocol/plugin/testing/settings.ts'
import { group } from '../trainer/groups.ts'
import { make, plugin } from './setup.ts'

const { COLUMNS, column, mul, neg } = expression
const loss: Correction = { loss: neg(mul(column('advantage'), column('logprob'))) }
const assembled = (corrections: Record<string, Correction>) =>
  assembleObjective(Object.entries(corrections).map(([name, correction]) => ({ name, correction })))

describe('a column that nothing gives', () => {
  test.each<[keyof Correction, Correction]>([
    ['loss', { loss: column('advantag') }],
    ['weight', { ...loss, weight: mul(2, column('advantag')) }],
    ['mask', { ...loss, mask: expression.less(column('advantag'), 1) }],
    ['penalty', { ...loss, penalty: column('advantag') }],
    ['metrics', { ...loss, metrics: { seen: column('advantag') } }],
  ])('is told with its plugin, where it is a misspelling in its %s', (_, correction) => {
    expect(() => assembled({ mine: correction })).toThrow(
      expect.objectContaining({
        code: 'E_PLUGIN',
        message: expect.stringMatching(
          /^correction "mine" reads a column "advantag", .* Did you mean "advantage"\? .*logprob, entropy/,
        ),
        hint: expect.stringMatching(/correct/),
      }),
    )
  })

  test('may be one of a plugin’s own; what other plugins give is listed with what the engine gives', () => {
    const own = { weight: column('mine.factor'), columns: { factor: 1, other: 2 } }
    const thief = { weight: column('mine.fcator') }
    expect(assembled({ loss, mine: own, friend: { weight: column('mine.other') } }).columns).toEqual({
      'mine.factor': 1,
      'mine.other': 2,
    })
    expect(() => assembled({ loss, mine: own, thief })).toThrow(
      /"thief" reads a column "mine.fcator".*Did you mean "mine.factor"\?.*replayed.*mine.factor, mine.other/,
    )
  })

  test('does not hide others, nor what else is wrong', () => {
    expect(() =>
      assembled({ a: { weight: column('advantag') }, b: { weight: mul(column('zzz'), column('stale')) } }),
    ).toThrow(/no correction gives a loss\n.*"a" .*"advantag".*\n.*"b" .*"stale".*\n.*"b" .*"zzz"/)
  })

  test('keeps a node from starting', async () => {
    const typo = plugin('typo', 'correction', { correct: () => ({ weight: column('behavior') }) })
    await expect(make([typo]).made).rejects.toMatchObject({
      code: 'E_PLUGIN',
      message: expect.stringMatching(/correction "typo" reads a column "behavior".*Did you mean "behaviour"/),
    })
  })
})

test('no built-in correction reads a column that is not there', () => {
  for (const one of CORRECTIONS) {
    const correction = withSettings(one).correct?.()
    if (correction) assembled({ ...(correction.loss ? {} : { loss }), [one.name]: correction })
  }
})

test('what is said to be there is what a batch has, what the engine computes, and what is scored before a step', () => {
  const given = rowsByAuthor([group([0, 1], { seed: 1 })], [[1, -1]], {
    self: 'me',
    lineage: 'a',
    version: 1,
    isBelieved: () => true,
  })
  const rows = Object.keys(given.own.concat(given.foreign.flatMap(({ groups }) => groups))[0]![0]!.columns)
  expect([...COLUMNS].sort()).toEqual(
    [...new Set([...rows, 'mask', 'logprob', 'entropy', 'divergence', 'proximal', 'reference'])].sort(),
  )
})
