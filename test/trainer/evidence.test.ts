// What a node has found out about its peers is in its checkpoints, and a restart goes on with it.

import { afterEach, describe, expect, test } from 'vitest'
import { createAuthors } from '../../daemon/trainer/sharing/authors.ts'
import { learnerState } from '../../daemon/trainer/sharing/evidence.ts'
import { createJudge } from '../../daemon/trainer/sharing/judge.ts'
import type { PartReport } from '../../daemon/trainer/sharing/mixing/part.ts'
import { createSharingRecord } from '../../daemon/trainer/sharing/sharing-record.ts'
import { EDGES } from '../../daemon/trainer/sharing/typicality.ts'
import { startLooped } from './looped-node.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
const close = (closer: () => Promise<unknown>): void => {
  closers.push(closer)
}

/** Tokens as this node's own policy draws them. */
const LIKE = [...EDGES, ...EDGES].map((edge, i, all) => 600 * (edge - (i % EDGES.length ? all[i - 1]! : 0)))

/** As a checkpoint writes and reads it. */
const overDisk = <State>(state: State): State =>
  learnerState.parse(JSON.parse(JSON.stringify(state))) as State

const part = (author: string | undefined, alongOwn: number, weight: number): PartReport => ({
  ...(author === undefined ? {} : { author }),
  groups: 2,
  count: 10,
  gradientNorm: 1,
  scale: 0.4,
  wouldScale: 0.8,
  alongOwn,
  loss: 0,
  metrics: {
    'watch.known': 0.5,
    'watch.weight': weight / 2,
    ...Object.fromEntries(
      EDGES.flatMap((edge) => [
        [`watch.unsure ${edge}`, edge / 5],
        [`watch.sure ${edge}`, edge],
      ]),
    ),
  },
  completionTokens: 600,
  realTokens: 10,
  computedTokens: 10,
  seconds: 1,
})

function recordOf(restored?: Parameters<typeof createSharingRecord>[0]['restored'], adaptive = true) {
  return createSharingRecord(
    { settings: () => ({ limit: 16, batchGroups: 2 }), adaptive, restored },
    { cost: () => 1, onGuard() {}, onChange() {} },
  )
}

type SharingRecord = ReturnType<typeof recordOf>

/** Own groups bring 1 an update, a useful peer as much, a useless one nothing, and a liar hides how likely its tokens are. */
function live(record: SharingRecord, updates: number): void {
  for (let i = 0; i < updates; i++) {
    const noise = i % 2 === 0 ? 0.3 : -0.3
    const peers = [part('useful', 1 - noise, 1), part('useless', 0, 1), part('liar', noise, 9)]
    record.observe([part(undefined, 1 + noise, 1), ...peers], true)
  }
}

describe('after a restart', () => {
  test('weights, verdict, J and what is believed are as they were, and go on as if there had been none', () => {
    const before = recordOf()
    live(before, 60)
    before.authors.setAside('useful', 'it wrote for a bad batch')
    before.authors.tick()
    const again = recordOf(overDisk(before.save()))
    expect(before.info().verdict).toBe('hurts')
    for (const updates of [0, 30]) {
      live(before, updates)
      live(again, updates)
      const { last: _, ...known } = before.info()
      expect(again.info()).toMatchObject(known)
      expect(again.judge.next()).toEqual(before.judge.next())
      for (const author of ['useful', 'useless', 'liar']) {
        expect(again.authors.earnedWeight(author)).toBe(before.authors.earnedWeight(author))
        expect(again.authors.isBelieved(author)).toBe(author !== 'liar')
        expect(again.authors.isSetAside(author)).toBe(before.authors.isSetAside(author))
      }
    }
  })

  test('an author that was useless for long weighs hardly anything, and one that was set aside remembers it', () => {
    const before = createAuthors({})
    for (let i = 0; i < 200; i++)
      before.observe('useless', { gain: 0, own: 0.3, norm: 0.1, tokens: { counts: LIKE } })
    before.setAside('was bad', 'why')
    for (let i = 0; i < 50; i++) before.tick()
    const again = createAuthors({ restored: before.save() })
    expect(again.earnedWeight('useless')).toBeLessThan(0.1)
    expect(again.earnedWeight('stranger')).toBeUndefined()
    again.setAside('was bad', 'again')
    // Twice as long as the first time.
    expect(again.save().setAside).toMatchObject([{ author: 'was bad', updates: 100, offences: 2 }])
  })

  test('a cool-down goes on; where the config fixes J, no saved J stands against it', () => {
    const before = createJudge({ settings: () => ({ limit: 8 }), adaptive: true })
    before.coolDown(3)
    before.spent(1)
    const again = createJudge({ settings: () => ({ limit: 8 }), adaptive: true, restored: before.save() })
    for (let i = 0; i < 2; i++) {
      expect(again.next()).toMatchObject({ foreign: 0 })
      again.spent(1)
    }
    expect(again.next()).toMatchObject({ foreign: 8, learn: true })
    const fixed = createJudge({ settings: () => ({ limit: 8 }), adaptive: false, restored: again.save() })
    expect(fixed.next()).toMatchObject({ foreign: 8, learn: true })
    fixed.coolDown(1)
    fixed.spent(1)
    expect(fixed.next()).toMatchObject({ foreign: 8, learn: true })
  })

  test('what changes afterwards does not change what was saved', () => {
    const record = recordOf()
    live(record, 10)
    const saved = record.save()
    const text = JSON.stringify(saved)
    live(record, 10)
    live(recordOf(saved), 10)
    expect(JSON.stringify(saved)).toBe(text)
  })
})

test('older checkpoints say who is set aside, and no more about single authors', () => {
  const setAside = [{ author: 'bad', updates: 3, offences: 1, reason: 'why' }]
  expect(
    learnerState.parse({ setAside, evidence: { judge: {}, peers: {}, authors: [{ trust: 1 }] } }),
  ).toEqual({
    setAside,
  })
})

test('checkpoints of older versions keep what is still known', () => {
  const record = recordOf()
  live(record, 20)
  const saved = record.save()
  const { pairs: noise } = saved.evidence.judge
  const speedUp = { noise, worth: noise, recent: [{ own: 2, weights: 1, squares: 1 }], terms: 3, scale: 1 }
  const authors = saved.evidence.authors.map((author) => ({ ...author, allowance: 0.5 }))
  for (const former of [{ speedUp }, { noise, costs: { own: 2, foreign: 1 } }])
    expect(learnerState.parse({ ...saved, evidence: { ...saved.evidence, ...former, authors } })).toEqual(
      saved,
    )
  expect(() => learnerState.parse({ ...saved, evidence: { ...saved.evidence, authors: [null] } })).toThrow()
})

test('nothing that a peer does brings about what cannot be read back', () => {
  const record = recordOf()
  live(record, 3)
  const odd = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1e308, 1e308, 0]
  for (const value of odd) {
    for (const other of odd) {
      const peer = { ...part(`peer ${value} ${other}`, value, other), gradientNorm: value, scale: other }
      record.observe([part(undefined, 1, 1), peer], true)
    }
  }
  const saved = record.save()
  expect(overDisk(saved)).toEqual(saved)
  expect(saved.evidence.authors).toHaveLength(3 + odd.length ** 2)
})

test('as many authors are kept as are remembered, in little room', () => {
  const { authors, save } = recordOf()
  for (let i = 0; i < 2000; i++)
    authors.observe(`peer ${i}`, {
      gain: i / 7,
      own: 1 / 3,
      norm: 0.1,
      tokens: { counts: EDGES.map((_, k) => k), weight: 1.1 },
    })
  expect(save().evidence.authors).toHaveLength(512)
  expect(JSON.stringify(save(), null, 2).length).toBeLessThan(350_000)
})

test('a node with real loops and checkpoints goes on with the verdict and the weights that it had', async () => {
  const first = await startLooped({}, close)
  await first.until(() => (first.learner.sharing()?.comparisons ?? 0) >= 12)
  await first.stop()
  // The last update is that of a run.
  const { last: _, ...before } = first.learner.sharing()!
  expect(before).toMatchObject({ contributors: [{ peer: 'peer' }] })

  const second = await startLooped({ disk: first.disk }, close)
  // Nothing has come in yet: all of it is from the checkpoint.
  expect(second.learner.sharing()).toEqual(before)
  expect(second.policy.reference().version).toBe(first.policy.reference().version)
  await second.until(() => second.learner.sharing()!.comparisons > before.comparisons)
  expect(second.troubles).toEqual([])
})
