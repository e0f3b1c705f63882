import { expect, test } from 'vitest'
import { createNodeState } from '../../daemon/node/state.ts'
import {
  adviceOn,
  createPhases,
  type LimitHold,
  METRICS,
  type PhaseName,
  type Snapshot,
} from '../../protocol/api/index.ts'

const hold: LimitHold = { limit: 'on_battery', reason: 'the machine runs on battery', since: 0 }

test('a pause by the user is told apart from limits, and limits from trouble', () => {
  const wishes = { paused: false, stopping: false }
  const holds: LimitHold[] = []
  let trouble: string | undefined
  const told: unknown[] = []
  const state = createNodeState({
    wishes,
    limits: { info: () => ({ holds }) },
    events: { emit: (event) => void told.push(event) as never },
    trouble: () => trouble,
    phases: createPhases({ now: () => 0 }),
  })
  expect(state.now()).toEqual({ state: 'GENERATING' })
  trouble = 'the disk is full'
  expect(state.now()).toEqual({ state: 'DEGRADED', detail: 'the disk is full' })
  holds.push(hold, { limit: 'hours', reason: 'it may work at 22:00-07:00 only', since: 5 })
  expect(state.now()).toEqual({
    state: 'WAITING',
    detail: 'the machine runs on battery; it may work at 22:00-07:00 only',
  })
  wishes.paused = true
  state.tell()
  expect(told).toEqual([{ type: 'state', state: 'PAUSED' }])
  wishes.stopping = true
  expect(state.now()).toEqual({ state: 'STOPPING' })
})

test('the state is what the node does: training at step 0 is training, and writing after it is not', async () => {
  let now = 0
  const phases = createPhases({ now: () => now })
  const state = createNodeState({
    ...{ wishes: { paused: false, stopping: false }, limits: { info: () => ({ holds: [] }) }, phases },
    ...{ events: { emit: () => ({}) as never }, trouble: () => undefined },
  })
  const during = async (name: PhaseName): Promise<unknown> => {
    const told = await phases.run(name, { unit: 'tokens', total: 200 }, (at) => {
      at(50)
      now += 5000
      return state.now()
    })
    now += 5000
    return told
  }
  const detail = '25 %, 50 of 200 tokens, 10 tokens/s'
  expect(await during('evaluate')).toEqual({ state: 'EVALUATING', detail })
  expect(await during('train')).toEqual({ state: 'TRAINING', detail: `${detail}, 15 s left` })
  expect(await during('write')).toEqual({ state: 'GENERATING', detail })
  expect(await during('save')).toEqual({ state: 'SAVING', detail: `${detail}, 15 s left` })
})

test('a node that stops says what it waits for', async () => {
  let now = 0
  const phases = createPhases({ now: () => now })
  const state = createNodeState({
    ...{ wishes: { paused: false, stopping: true }, limits: { info: () => ({ holds: [] }) }, phases },
    ...{ events: { emit: () => ({}) as never }, trouble: () => undefined },
  })
  await phases.run('train', {}, () => {
    now = 3000
    expect(state.now()).toEqual({ state: 'STOPPING', detail: 'training for 3 s' })
  })
})

test('advice and metrics say which limit holds a node back, and since when', () => {
  const snapshot = {
    state: 'WAITING',
    time: 720_000,
    limits: { holds: [hold] },
  } as Partial<Snapshot> as Snapshot
  expect(adviceOn(snapshot)).toEqual([
    {
      level: 'hint',
      text: 'the node has been waiting for 12 min: the machine runs on battery',
      action: '`set` changes limits.on_battery',
    },
  ])
  const readings = METRICS.find(({ series }) => series === 'held_back')!.read(snapshot)
  expect(readings).toContainEqual({ labels: { limit: 'on_battery' }, value: 1 })
  expect(readings).toContainEqual({ labels: { limit: 'hours' }, value: 0 })
})

test('what holds the network back is told, and the node goes on training', () => {
  const holds: LimitHold[] = [
    { limit: 'network_gb_per_month', reason: 'the network has had its 5 GB of this month', since: 0 },
  ]
  const snapshot = {
    state: 'TRAINING',
    time: 720_000,
    limits: { holds: [], network: { monthBytes: 5e9, holds } },
  } as Partial<Snapshot> as Snapshot
  expect(adviceOn(snapshot)).toEqual([
    {
      level: 'attention',
      text: 'the network has been held back for 12 min: the network has had its 5 GB of this month',
      action: '`set` changes limits.network_gb_per_month',
    },
  ])
  const reading = (name: string) => METRICS.find(({ series }) => series === name)!.read(snapshot)
  expect(reading('held_back')).toContainEqual({ labels: { limit: 'network_gb_per_month' }, value: 1 })
  expect(reading('network_month_bytes')).toBe(5e9)
})
