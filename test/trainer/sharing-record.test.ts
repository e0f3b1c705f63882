// The verdict on peers goes by what their steps brought once they were taken, not by how they looked.

import { expect, test } from 'vitest'
import type { PartReport } from '../../daemon/trainer/sharing/mixing/part.ts'
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
    { settings: () => ({ limit: 16, batchGroups: 2 }), adaptive: false, restored: undefined },
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

test('steps that own rollouts take back hurt, however much their gradients agree with own ones', () => {
  const { authors, info } = live(-0.5)
  expect(info().verdict).toBe('hurts')
  expect(authors.isSetAside('better')).toBe(false)
})

test('steps that go on to bring what own ones bring do not hurt', () => {
  const { verdict, effect } = live(1).info()
  expect(verdict).not.toBe('hurts')
  expect(Math.abs(effect!)).toBeLessThan(0.05)
})

test('steps that go on to bring half of that hurt, and the effect says how much', () => {
  const { verdict, effect } = live(0.5).info()
  expect([verdict, effect]).toEqual(['hurts', expect.closeTo(-0.5, 1)])
})

test('groups that are only looked at are judged by how they look', () => {
  expect(live(-0.5, false).info().verdict).not.toBe('hurts')
})

test('a node that knows nothing of its peers yet trains on their groups, until they are seen to bring nothing', () => {
  const record = createSharingRecord(
    { settings: () => ({ limit: 512, batchGroups: 16 }), adaptive: true, restored: undefined },
    { cost: ({ groups }) => groups, onGuard() {}, onChange() {} },
  )
  // They fill a batch and make it no larger.
  expect(record.judge.next()).toMatchObject({ learn: true, foreign: 14 })
  for (let i = 0; i < 20; i++)
    record.observe(
      [part({ groups: 16, alongOwn: 1 + noise(i), alongForeign: 0 }), part({ author: 'peer', alongOwn: 1 })],
      true,
    )
  expect(record.judge.next()).toMatchObject({ learn: false })
})
