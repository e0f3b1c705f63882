// What peers weigh goes by what their steps brought once they were taken, not by how they looked.

import { expect, test } from 'vitest'
import type { PartReport } from '../../daemon/trainer/sharing/mixing/index.ts'
import { createSharingRecord } from '../../daemon/trainer/sharing/sharing-record.ts'

const part = (figures: Partial<PartReport>): PartReport => ({
  groups: 2,
  count: 10,
  gradientNorm: 1,
  scale: 1,
  wouldScale: 1,
  loss: 0,
  metrics: {},
  completionTokens: 10,
  realTokens: 10,
  computedTokens: 10,
  seconds: 1,
  ...figures,
})

function recordOf() {
  return createSharingRecord(
    { limit: 16, usual: 2, isRateScaled: true, adaptive: false, restored: undefined },
    { cost: () => 1, onGuard() {}, onChange() {} },
  )
}
const noise = (i: number): number => (i % 2 === 0 ? 0.3 : -0.3)

/** Both peers' gradients look as good as own ones; `alongForeign` is what own rollouts say of the steps that they made. */
function live(alongForeign: number, learnt = true) {
  const record = recordOf()
  for (let i = 0; i < 60; i++)
    record.observe(
      [
        part({ alongOwn: 1 + noise(i), alongForeign: 2 * alongForeign - noise(i) }),
        part({ author: 'better', alongOwn: 1.2 }),
        part({ author: 'worse', alongOwn: 0.8 }),
      ],
      learnt,
    )
  return record
}

test('steps that own rollouts take back weigh nothing, however much their gradients agree with own ones', () => {
  const { authors, info } = live(-0.5)
  expect(info()).toMatchObject({ weight: 0, verdict: 'hurts' })
  expect([authors.weight('better'), authors.weight('worse')]).toEqual([0, 0])
  expect(authors.isSetAside('better')).toBe(false)
})

test('steps that go on to bring what own ones bring weigh as much', () => {
  const { authors, info } = live(1)
  expect(info().weight).toBeGreaterThan(0.9)
  expect(authors.weight('better')).toBeGreaterThan(0.9)
})

test('what brings half weighs a little more than half, until that is certain', () => {
  const { authors, info } = live(0.5)
  for (const weight of [info().weight, authors.weight('better')]) {
    expect(weight).toBeGreaterThan(0.5)
    expect(weight).toBeLessThan(0.7)
  }
})

test('groups that are only looked at are judged by how they look', () => {
  expect(live(-0.5, false).info().weight).toBeGreaterThan(0.9)
})

test('a node that knows nothing of its peers yet trains on their groups, and less so as they bring less', () => {
  const record = createSharingRecord(
    { limit: 512, usual: 16, isRateScaled: true, adaptive: true, restored: undefined },
    // Own groups are sampled, too.
    { cost: ({ author, groups }) => groups * (author === undefined ? 1.4 : 1), onGuard() {}, onChange() {} },
  )
  expect(record.judge.next()).toMatchObject({ learn: true, foreign: 29 })
  const observe = () =>
    record.observe(
      [part({ groups: 16, alongOwn: 1 + noise(1), alongForeign: 0 }), part({ author: 'peer', alongOwn: 1 })],
      true,
    )
  observe()
  expect(record.judge.next()).toMatchObject({ learn: true, foreign: 13 })
  for (let i = 0; i < 10; i++) observe()
  expect(record.judge.next()).toMatchObject({ learn: false })
})

test('at an unchanged learning rate, foreign groups fill a batch and make it no larger', () => {
  const options = { limit: 512, usual: 16, isRateScaled: false, adaptive: true, restored: undefined }
  const record = createSharingRecord(options, { cost: () => 1, onGuard() {}, onChange() {} })
  expect(record.judge.next()).toMatchObject({ learn: true, foreign: 14 })
})
