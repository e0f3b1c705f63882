// Audits of recorded steps, on the real engine.

import { afterEach, describe, expect, test } from 'vitest'
import { createBlobs } from '../../../daemon/store/blobs.ts'
import { createLedger, stepsHeld } from '../../../daemon/trainer/audit/ledger.ts'
import { bytesOf } from '../../../daemon/trainer/audit/state.ts'
import { SimulatedDisk } from '../../store/simulated-disk.ts'
import {
  addTo,
  audit,
  even,
  groupBy,
  METHOD,
  type Play,
  peer,
  play,
  type Recorded,
  SELF,
} from './recorded.ts'

const opened: Recorded[] = []
afterEach(async () => {
  for (const { engine } of opened.splice(0)) await engine.close()
})
const played = async (how: Play = {}): Promise<Recorded> => {
  const recorded = await play(how)
  opened.push(recorded)
  expect(recorded.troubles).toEqual([])
  return recorded
}

describe('an honest step', () => {
  test('of own and foreign groups is computed again bit for bit, at every place of the receipt', async () => {
    const recorded = await played()
    for (const step of [0, 1, 2])
      expect(await audit(recorded, step)).toMatchObject({ outcome: 'passed', isSame: true })
  })

  test('of own groups alone is, too', async () => {
    const recorded = await played({ steps: 1, authors: [SELF, SELF] })
    expect(await audit(recorded, 0)).toMatchObject({ outcome: 'passed', isSame: true })
  })

  test('of several minibatches is, too: the receipt names their order', async () => {
    const recorded = await played({ steps: 2, minibatches: 2 })
    const method = { ...METHOD, minibatches: 2 }
    const { after } = recorded.ledger.offer()!.steps[1]!
    expect(after.steps).toBe(4)
    expect(await audit(recorded, 1, { method, claimed: method })).toMatchObject({
      outcome: 'passed',
      isSame: true,
    })
  })

  test('with two threads is the one with one thread', async () => {
    const recorded = await played({ steps: 2, threads: 2 })
    expect(await audit(recorded, 1)).toMatchObject({ outcome: 'passed', isSame: true })
  })
})

describe('a forged step fails:', () => {
  test.each<[string, Play['forge'] & {}]>([
    ['the weights go the other way', (_, weights) => addTo(weights, -2)],
    ['the step is scaled', (_, weights) => addTo(weights, 9)],
    ['a twentieth more than tolerated is added', (_, weights) => addTo(weights, 0.1)],
  ])('%s', async (_, forge) => {
    const recorded = await played({ steps: 2, forge })
    expect(await audit(recorded, 1)).toMatchObject({ outcome: 'failed' })
  })
})

test('a step that rounding cannot explain is no proof where rounding was not measured', async () => {
  const recorded = await played({ steps: 2, forge: (_, weights) => addTo(weights, 9) })
  expect(await audit(recorded, 1, { build: 'waggle 1, onnx on webgpu, linux x64' })).toMatchObject({
    ...{ outcome: 'unauditable', why: expect.stringContaining('webgpu') },
  })
})

describe('a batch that no honest node has fails:', () => {
  test.each<[string, string, Play]>([
    [
      'rewards that the verifier does not give',
      'weights',
      {
        groupOf(author, seed) {
          const group = groupBy(author, seed)
          for (const rollout of group.rollouts) rollout.reward = 1 - rollout.reward
          return group
        },
      },
    ],
    [
      'a held-out prompt',
      'held-out',
      {
        groupOf(author, seed) {
          const group = groupBy(author, seed)
          return { ...group, prompt: { ...group.prompt, seed: 0x8000_0000 + seed } }
        },
      },
    ],
    [
      'tokens that are not the text',
      'not its text',
      {
        groupOf(author, seed) {
          const group = groupBy(author, seed)
          group.rollouts[0]!.tokens[0]! += 2
          return group
        },
      },
    ],
    ['one group twice', 'twice', { groupOf: (author) => groupBy(author, 1), authors: [SELF, SELF] }],
    [
      'an own group of another content',
      'another content',
      { groupOf: (author, seed) => ({ ...groupBy(author, seed), id: 'f'.repeat(64) }), authors: [SELF] },
    ],
  ])('%s', async (_, what, how) => {
    const recorded = await played({ steps: 1, ...how })
    expect(await audit(recorded, 0)).toMatchObject({ outcome: 'failed', what: expect.stringContaining(what) })
  })
})

describe('what this node cannot compute is unauditable, not suspicious:', () => {
  test.each([
    ['a task that it does not have', 'the task even', { tasks: [] }],
    [
      'another version of the task',
      `version ${even.version}`,
      { tasks: [{ ...even, version: even.version + 1 }] },
    ],
    ['another estimator', 'estimator', { method: { ...METHOD, estimator: { use: 'rloo' } } }],
    ['a rate that it would not learn at', 'learning rate', { learningRate: 1e-4 }],
  ])('%s', async (_, why, how) => {
    const recorded = await played({ steps: 1 })
    expect(await audit(recorded, 0, how)).toMatchObject({
      ...{ outcome: 'unauditable', why: expect.stringContaining(why) },
    })
  })

  test('a step of groups that are never shared', async () => {
    const groupOf = (author: string, seed: number) => ({ ...groupBy(author, seed), arm: 'hint.1' })
    const recorded = await played({ steps: 1, groupOf })
    expect(recorded.ledger.offer()!.steps[0]!.batch).toBeUndefined()
    expect(await audit(recorded, 0)).toMatchObject({
      ...{ outcome: 'unauditable', why: expect.stringContaining('never shared') },
    })
  })
})

test('a receipt whose states do not come proves nothing', async () => {
  const recorded = await played({ steps: 1 })
  const { batch } = recorded.ledger.offer()!.steps[0]!
  const bytes = async (hash: string) => (hash === batch!.hash ? recorded.ledger.bytes(hash) : undefined)
  expect(await audit(recorded, 0, { bytes: async () => undefined })).toMatchObject({ outcome: 'unserved' })
  expect(await audit(recorded, 0, { bytes })).toMatchObject({ outcome: 'unserved', what: 'a state' })
})

describe('what a node keeps', () => {
  test('is bounded: the oldest steps go, and with them their bytes', async () => {
    const { ledger } = await played({ steps: 4, maxBytes: 3 * 12 * 1e4 })
    const all = await played({ steps: 4 })
    const [kept, before] = [ledger.offer()!.steps, all.ledger.offer()!.steps]
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.length).toBeLessThan(4)
    expect(kept.at(-1)!.after).toEqual(before.at(-1)!.after)
    expect(await ledger.bytes(before[0]!.before.weights)).toBeUndefined()
    expect(await ledger.bytes(kept[0]!.before.weights)).toBeDefined()
  })

  test('has what a head was compared with, though a trial takes more steps than are kept', async () => {
    const { ledger } = await played({ steps: 1, maxBytes: 1 })
    const add = { before: stateAt(1), after: stateAt(2), version: 9, groups: [], batch: { closed: 'x' } }
    const beside = Float32Array.of(7)
    await ledger.joined([{ author: peer(2), hash: 'cd'.repeat(32), share: 0.5, beside }])
    await ledger.add(add)
    const { joined } = ledger.offer()!.steps.at(-1)!
    expect(await ledger.bytes(joined[0]!.added!.beside)).toEqual(bytesOf(beside))
    for (const at of [3, 4]) await ledger.add({ ...add, after: stateAt(at) })
    ledger.offer()
    ledger.offer()
    await ledger.add({ ...add, after: stateAt(5) })
    expect(await ledger.bytes(joined[0]!.added!.beside)).toBeUndefined()
  })

  test('stays while it is offered, and while the next offer stands, since a peer may still be fetching', async () => {
    const recorded = await played({ steps: 1, maxBytes: 1 })
    const [step] = recorded.ledger.offer()!.steps
    const add = { before: stateAt(1), after: stateAt(2), version: 9, groups: [], batch: { closed: 'x' } }
    await recorded.ledger.add(add)
    recorded.ledger.offer()
    await recorded.ledger.add({ ...add, after: stateAt(3) })
    expect(await recorded.ledger.bytes(step!.before.moments)).toBeDefined()
    recorded.ledger.offer()
    await recorded.ledger.add({ ...add, after: stateAt(4) })
    expect(await recorded.ledger.bytes(step!.before.moments)).toBeUndefined()
  })
})

test.each([
  [1_050_000, 12],
  [4_884_480, 1],
  [16_000_000, 1],
])(
  'of a model with %i trained values a receipt holds %i steps, also where a head is averaged in before each',
  async (values, held) => {
    expect(stepsHeld(values)).toBe(held)
    const ledger = createLedger(
      { values },
      { blobs: createBlobs({ directory: '/audits' }, { disk: new SimulatedDisk() }) },
    )
    for (let at = 0; at < 20; at++) {
      await ledger.joined([
        { author: peer(2), hash: 'cd'.repeat(32), share: 0.5, beside: Float32Array.of(-at) },
      ])
      await ledger.made({
        hash: 'ab'.repeat(32),
        weights: Float32Array.of(at),
        lost: Float32Array.of(0.5 + at),
      })
      const batch = new Uint8Array(100)
      await ledger.add({ before: stateAt(at), after: stateAt(at + 1), version: at, groups: [], batch })
    }
    expect(ledger.offer()!.steps.length).toBeGreaterThanOrEqual(held)
  },
)

const stateAt = (value: number) => ({
  ...{ steps: value, weights: Float32Array.of(value), moments: Float32Array.of(value, value) },
})

test('an author that two groups are of has the peer ID in the receipt, an own one none', async () => {
  const recorded = await played({ steps: 1, authors: [SELF, peer(2)] })
  expect(recorded.ledger.offer()!.steps[0]!.groups.map(({ author }) => author)).toEqual([undefined, peer(2)])
})
