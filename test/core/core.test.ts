// What a node's core decides: which groups are kept and shared, when a batch is due, which groups go, what a roll-back
// drops, and what an own group costs. The pool and the learner are real; the trainer only counts.

import { expect, test } from 'vitest'
import { vouchesFor } from '../../daemon/node/core.ts'
import { setUp } from './set-up.ts'

test('a group with a signal is kept and shared; one without is not kept, and shared until peers can know this node', async () => {
  const { core, at, pool } = await setUp()
  let seed = 10
  const isShared = () => core.onOwnGroup(at([1, 1], seed++)).isShared
  expect(core.onOwnGroup(at([1, 0], 2))).toEqual({ isShared: true })
  for (let i = 0; i < 23; i++) expect(isShared()).toBe(true)
  expect(isShared()).toBe(false)
  expect(core.onOwnGroup(at([1, 0], 3))).toEqual({ isShared: true })
  expect(core.waiting('own').map(({ id }) => id)).toEqual(['group 2', 'group 3'])
  // Nobody can send such a group back as its own.
  expect([pool.hasSeen('group 10'), pool.counts().own]).toEqual([true, 2])
  // Whoever is new here does not know this node, either.
  core.onForeignGroup({ ...at([1, 0], 8), author: 'peer' })
  expect(isShared()).toBe(true)
})

test('a tainted or hinted group introduces nobody', async () => {
  const { core, at } = await setUp()
  expect(core.onOwnGroup({ ...at([1, 1], 1), arm: 'hint' })).toEqual({ isShared: false })
  expect(core.onOwnGroup({ ...at([1, 1], 2), tainted: true })).toEqual({ isShared: false })
})

test("a peer's group without a signal is no training material, and of use while nothing is known of the peer", async () => {
  const { core, at } = await setUp()
  const from = (author: string, seed: number) => core.onForeignGroup({ ...at([0, 0], seed), author })
  expect([from('peer', 1), from('friend', 2)]).toEqual([true, false])
  expect(core.waiting('foreign')).toEqual([])
  // No author fills the queue.
  expect([3, 4, 5, 6].map((seed) => from('peer', seed))).toEqual([true, true, true, false])
  expect(from('other', 7)).toBe(true)
})

test('a group that no message could hold is kept, and not shared', async () => {
  const { core, at } = await setUp()
  const one = at([1, 0], 1)
  expect(core.onOwnGroup({ ...one, rollouts: one.rollouts.slice(0, 1), always: true })).toEqual({
    isShared: false,
  })
  expect(core.waiting('own')).toHaveLength(1)
})

test('what waits of a peer is not trained on from when its weights are averaged', async () => {
  const { core, at, joined } = await setUp()
  core.onForeignGroup({ ...at([1, 0], 8), author: 'peer' })
  core.onForeignGroup({ ...at([1, 0], 9), author: 'other' })
  joined.add('peer')
  for (const seed of [1, 2]) core.onOwnGroup(at([1, 0], seed))
  expect(core.waiting('foreign').map(({ id }) => id)).toEqual(['group 9'])
  expect(core.nextBatch()?.groups.map(({ id }) => id)).not.toContain('group 8')
})

test('a batch is due once enough own groups wait; groups that were taken wait no longer', async () => {
  const { core, at } = await setUp()
  core.onOwnGroup(at([1, 0], 1))
  core.onForeignGroup({ ...at([1, 0], 8), author: 'peer' })
  expect(core.nextBatch()).toBeUndefined()
  core.onOwnGroup(at([0, 1], 2))
  const batch = core.nextBatch()
  expect(batch?.groups.map(({ id }) => id).sort()).toEqual(['group 1', 'group 2', 'group 8'])
  expect([core.waiting('own'), core.waiting('foreign')]).toEqual([[], []])
  expect(core.nextBatch()).toBeUndefined()
})

test("a peer's group is taken once, whoever brings it again", async () => {
  const { core, at } = await setUp()
  const theirs = { ...at([1, 0], 8), author: 'peer' }
  expect([core.onForeignGroup(theirs), core.onForeignGroup(theirs)]).toEqual([true, false])
})

test('plugins are told which groups are of authors that the user vouches for', async () => {
  const { core, at, plugins, received, version } = await setUp()
  core.onForeignGroup({ ...at([1, 0], 7), author: 'peer' })
  core.onForeignGroup({ ...at([1, 0], 8), author: 'friend' })
  await plugins.round({ step: version() }).receive()
  expect(received.map(({ author, trusted }) => [author, trusted])).toEqual([
    ['peer', undefined],
    ['friend', true],
  ])
  expect(core.waiting('foreign').every((one) => !('trusted' in one))).toBe(true)
})

test('a step counts, and groups that were used or are too old go with it', async () => {
  const { core, pool, at } = await setUp({ own: 1, foreign: 0, maxStaleness: 4 })
  core.onForeignGroup({ ...at([1, 0], 7, -1), author: 'peer' })
  core.onForeignGroup({ ...at([1, 0], 8, 0), author: 'peer' })
  core.onOwnGroup(at([1, 0], 1))
  const report = await core.train(core.nextBatch()!)
  expect(report).toMatchObject({ step: 4, own: 1 })
  expect(pool.counts()).toMatchObject({ own: 0, foreign: 1 })
  expect(core.waiting('foreign').map(({ id }) => id)).toEqual(['group 8'])
})

test('a round without a useful group is told to plugins once, after the next one has begun', async () => {
  const { core, at } = await setUp()
  core.onRound({ cost: 1 })
  core.onOwnGroup(at([1, 1], 1))
  expect(core.isBarren).toBe(false)
  core.onRound({ cost: 1 })
  expect(core.isBarren).toBe(true)
  await core.commitBarrenRound()
  expect(core.isBarren).toBe(false)
  core.onOwnGroup(at([1, 0], 2))
  core.onRound({ cost: 1 })
  expect(core.isBarren).toBe(false)
})

/** Rewards that fall from nearly all right to all wrong, which no chance explains: the canary goes back. */
async function collapse({ core, at }: Awaited<ReturnType<typeof setUp>>): Promise<void> {
  for (let i = 0; i < 400; i++) core.onOwnGroup(at(i % 8 === 0 ? [1, 0] : [1, 1], 100 + i))
  for (let i = 0; i < 400; i++) core.onOwnGroup(at([0, 0], 1000 + i))
  await core.handleAlarms()
}

test('a roll-back drops own groups, voids what older weights write, and asks for a checkpoint', async () => {
  const node = await setUp()
  const { core, at, setVersion } = node
  setVersion(60)
  await collapse(node)
  expect(core.isThrownAway(60)).toBe(true)
  expect(core.isThrownAway(61)).toBe(false)
  expect(core.waiting('own')).toEqual([])
  expect(core.isSaveUrgent).toBe(true)
  core.onSaved()
  expect(core.isSaveUrgent).toBe(false)
  setVersion(61)
  core.onOwnGroup(at([1, 0], 9999))
  expect(core.waiting('own')).toHaveLength(1)
})

test('a roll-back without a checkpoint to go to drops nothing', async () => {
  const node = await setUp({ isRestorable: false })
  node.setVersion(60)
  await collapse(node)
  expect(node.core.isThrownAway(60)).toBe(false)
  expect(node.core.waiting('own').length).toBeGreaterThan(0)
  expect(node.core.isSaveUrgent).toBe(false)
})

test('a user vouches for all peers, for none or for those named in full', () => {
  expect(vouchesFor('all', 'peer')).toBe(true)
  expect(vouchesFor([], 'peer')).toBe(false)
  expect(vouchesFor(['one peer', 'peer'], 'peer')).toBe(true)
  expect(vouchesFor(['one peer'], 'peer')).toBe(false)
})

test('groups of known peers take the place of own ones, and a busy trainer has fewer own ones written', async () => {
  const { core, at } = await setUp({ own: 8, foreign: 64, adaptive: true })
  expect(core.room.most).toBe(16)
  for (let seed = 10; seed < 15; seed++) core.onOwnGroup(at([1, 0], seed))
  for (let seed = 20; seed < 40; seed++) core.onForeignGroup({ ...at([1, 0], seed), author: 'friend' })

  const batch = core.nextBatch()!
  expect(batch.groups.filter(({ author }) => author === 'me')).toHaveLength(1)
  expect(batch.groups).toHaveLength(8)
  expect(core.room.most).toBe(2)
  // A trainer that waits wants a whole batch: peers may have nothing more.
  while (core.nextBatch());
  expect(core.room.most).toBe(16)
})

/** Its held-out accuracy has fallen between versions 20 and 30. */
async function fallen() {
  const node = await setUp()
  node.setVersion(60)
  const at = (version: number, accuracy: number) =>
    node.core.onEvaluation({ accuracy, prompts: 300, version })
  for (const [version, accuracy] of [
    [10, 0.4],
    [20, 0.4],
    [30, 0.1],
    [50, 0.1],
  ] as const)
    at(version, accuracy)
  return { ...node, at }
}

test('a node goes back to the weights of the last good evaluation, however late that ended', async () => {
  const { core, restored } = await fallen()
  await core.handleAlarms()
  expect(restored).toEqual([20])
})

test('an evaluation of weights that a roll-back discarded does not count', async () => {
  const { core, at } = await fallen()
  await core.handleAlarms()
  expect([at(60, 0.1), at(61, 0.4)]).toEqual([false, true])
})
