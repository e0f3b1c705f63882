// Going back to an earlier checkpoint, in a way that a restart agrees with.

import { expect, test } from 'vitest'
import type { Engine } from '../../daemon/engine/engine.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { type JoinedPeers, MAX_PHASES, trainedMeta } from '../../daemon/policy/trained.ts'
import { createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import {
  restoreBefore,
  restoreNode,
  restoreRole,
  saveNode,
} from '../../daemon/trainer/checkpoints/checkpointing.ts'
import type { LearnerState } from '../../daemon/trainer/sharing/evidence.ts'
import { createSharingRecord } from '../../daemon/trainer/sharing/sharing-record.ts'
import type { TrainedOnState } from '../../daemon/trainer/trained-on.ts'
import type { TrainingPhase } from '../../protocol/api/index.ts'
import { randomWeights, SPEC } from '../engine/model.ts'
import { SimulatedDisk } from '../store/simulated-disk.ts'

/** As checkpoints were before there was more to keep. */
const LEARNER: LearnerState = { setAside: [{ author: 'bad', updates: 7, offences: 1, reason: 'why' }] }
const model = { lineage: 'a'.repeat(64), spec: SPEC }

async function setUp(steps: readonly number[]) {
  const disk = new SimulatedDisk()
  const by = {
    disk,
    checkpoints: await createCheckpoints(
      { directory: '/home/checkpoints', keep: 3 },
      { disk, clock: () => 1e12, log: () => {} },
    ),
  }
  const save = async (
    step: number,
    {
      broken = false,
      parked,
      learner = LEARNER,
      counters = {},
      trainedOn,
      joined,
      asked,
      phases,
    }: {
      broken?: boolean
      parked?: Uint8Array
      learner?: unknown
      counters?: Record<string, number>
      trainedOn?: TrainedOnState
      joined?: JoinedPeers
      asked?: true
      phases?: TrainingPhase[]
    } = {},
  ): Promise<unknown> => {
    const weights = randomWeights(SPEC, step)
    if (broken) weights['model.norm.weight']![0] = Number.NaN
    const trainer = {
      weights: async () => weights,
      optimizer: async () => ({
        steps: step,
        first: randomWeights(SPEC, 1),
        second: randomWeights(SPEC, 2),
        lossScale: { scale: 2 ** 14, good: step },
      }),
    } as Partial<Engine> as Engine
    return saveNode(
      {
        ...model,
        version: step,
        rounds: step,
        counters,
        trainedOn,
        learner: learner as LearnerState,
        base: { name: 'tiny', directory: '/model' },
        ...{ parked, joined, phases, ...(asked && { asked }) },
      },
      { trainer, checkpoints: by.checkpoints },
    )
  }
  for (const step of steps) await save(step)
  return { by, save }
}

test('the newest checkpoint that is old enough is gone back to, and a restart begins there too', async () => {
  const { by } = await setUp([10, 40, 60])
  const found = await restoreBefore(45, model, by)
  expect(found?.state).toMatchObject({ version: 40, learner: { setAside: [{ author: 'bad' }] } })
  expect(found?.policy.weights).toEqual(randomWeights(SPEC, 40))
  expect(found?.policy.optimizer).toMatchObject({ steps: 40, lossScale: { scale: 2 ** 14, good: 40 } })
  expect((await restoreNode(model, by))?.state.version).toBe(40)
})

test('a checkpoint that cannot be read any more costs no newer one', async () => {
  const { by } = await setUp([10, 40, 60])
  by.disk.fault = (operation, path) =>
    operation === 'read' && path.includes('-step-40/optimizer') ? 'EIO' : undefined
  await expect(restoreBefore(45, model, by)).rejects.toThrow()
  expect((await restoreNode(model, by))?.state.version).toBe(60)
})

test('what the weights were trained on goes back with them', async () => {
  const { by, save } = await setUp([])
  const counts = (own: number): TrainedOnState => ({
    ...{
      own,
      foreign: 9,
      peers: [['peer', 28_333_333]],
      recent: [{ minute: 28_333_333, own: 2, foreign: 9 }],
    },
  })
  await save(40, { trainedOn: counts(12) })
  await save(60, { trainedOn: counts(30) })
  expect((await restoreNode(model, by))?.state.trainedOn).toEqual(counts(30))
  expect((await restoreBefore(45, model, by))?.state.trainedOn).toEqual(counts(12))
})

test('a checkpoint says whose weights are in it', async () => {
  const { by, save } = await setUp([10])
  const joined = { groups: 9, peers: [{ peer: 'a', heads: 2, groups: 9, version: 40, at: 1e12 }] }
  await save(40, { joined })
  const found = await restoreNode(model, by)
  expect(trainedMeta(found!.checkpoint.manifest.meta).joined).toEqual(joined)
  const earlier = await restoreBefore(10, model, by)
  expect(trainedMeta(earlier!.checkpoint.manifest.meta).joined).toBeUndefined()
})

test('a long record of training with many tasks costs its oldest phases and no checkpoint', async () => {
  const { by, save } = await setUp([10])
  const tasks = Array.from({ length: 256 }, (_, i) => ({ name: `a task with a long name, number ${i}` }))
  const phases = Array.from({ length: MAX_PHASES }, (_, i) => ({
    ...{ from: i, to: i, tasks, learningRate: 1, plugins: {} },
  }))
  await save(40, { phases })
  const checkpoints = await createCheckpoints(
    { directory: '/home/checkpoints' },
    { disk: by.disk, clock: () => 1e12, log: () => {} },
  )
  const found = await restoreNode(model, { disk: by.disk, checkpoints })
  expect(found!.state.version).toBe(40)
  const left = trainedMeta(found!.checkpoint.manifest.meta).phases!
  expect(left.length).toBeGreaterThan(8)
  expect(left).toEqual(phases.slice(-left.length))
})

test('a checkpoint says whether somebody asked for it', async () => {
  const { by, save } = await setUp([10])
  await save(40, { asked: true })
  const manifests = await by.checkpoints.manifests()
  expect(manifests.map(({ meta }) => trainedMeta(meta).asked)).toEqual([true, undefined])
})

test('a checkpoint of before peers were counted still says how many groups', async () => {
  const { by, save } = await setUp([])
  await save(10, { counters: { generated: 40, trainedOwn: 30, trainedForeign: 7 } })
  expect((await restoreNode(model, by))?.state.trainedOn).toEqual({
    ...{ own: 30, foreign: 7, peers: [], recent: [] },
  })
})

test('counts that are damaged are refused', async () => {
  const { by, save } = await setUp([])
  await save(10, { trainedOn: { own: -1, foreign: 0, peers: [], recent: [] } })
  await expect(restoreNode(model, by)).rejects.toMatchObject({ code: 'E_CHECKPOINT' })
})

test('where all are too young, the oldest has to do; where there are none, there is none', async () => {
  const { by } = await setUp([40, 60])
  expect((await restoreBefore(5, model, by))?.state.version).toBe(40)
  expect(await restoreBefore(5, model, (await setUp([])).by)).toBeUndefined()
})

test('a weight that is not finite is never saved, and the checkpoint before it stays', async () => {
  const { by, save } = await setUp([10])
  await expect(save(20, { broken: true })).rejects.toThrow(/infinite or NaN/)
  expect((await restoreNode(model, by))?.state.version).toBe(10)
})

const recordOf = (restored: LearnerState | undefined) =>
  createSharingRecord(
    { settings: () => ({ limit: 8, batchGroups: 2 }), adaptive: true, restored },
    { cost: () => 1, onGuard() {}, onChange() {} },
  )

test('what is known of peers is kept, and a checkpoint without it, or of before there was any, loads as ever', async () => {
  const { by, save } = await setUp([10])
  const restored = async () => (await restoreNode(model, by))?.state.learner
  expect(await restored()).toEqual(LEARNER)
  const older = recordOf(await restored())
  expect(older.authors.isSetAside('bad')).toBe(true)
  older.authors.observe('other', { gain: 0, own: 1, norm: 0.1 })
  const learner = older.save()
  await save(20, { learner })
  expect(await restored()).toEqual(learner)
  expect(recordOf(await restored()).info()).toEqual(older.info())
})

test.each<[string, (learner: ReturnType<ReturnType<typeof recordOf>['save']>) => unknown]>([
  [
    'a number that is none',
    (learner) => ({ ...learner, evidence: { ...learner.evidence, peers: { foreign: Number.NaN, own: 1 } } }),
  ],
  [
    'more authors than are remembered',
    (learner) => ({
      ...learner,
      evidence: { ...learner.evidence, authors: Array(513).fill(learner.evidence.authors[0]) },
    }),
  ],
  ['something that is not known', (learner) => ({ ...learner, trusted: ['me'] })],
  [
    'no level of J',
    (learner) => ({
      ...learner,
      evidence: { ...learner.evidence, judge: { ...learner.evidence.judge, level: 9 } },
    }),
  ],
  ['nothing at all', () => null],
])('a checkpoint whose record of peers holds %s is refused as damaged', async (_, damage) => {
  const { by, save } = await setUp([10])
  const record = recordOf(undefined)
  record.authors.observe('other', { gain: 0, own: 1, norm: 0.1 })
  await save(20, { learner: damage(record.save()) })
  await expect(restoreNode(model, by)).rejects.toMatchObject({
    code: 'E_CHECKPOINT',
    message: expect.stringMatching(
      /000002-step-20 cannot be used; the record of peers in state\.json is damaged/,
    ),
    hint: expect.stringMatching(/before it/),
  })
})

test('what was being written is kept, whatever its size, and where nothing was there is nothing', async () => {
  const { by, save } = await setUp([10])
  expect((await restoreNode(model, by))?.parked).toBeUndefined()
  const parked = new Uint8Array(2 ** 21).fill(7)
  await save(20, { parked })
  expect(Buffer.compare((await restoreNode(model, by))!.parked!, parked)).toBe(0)
})

test('plugins and roles are in the checkpoint, under their names, and come back as they were', async () => {
  const { by } = await setUp([])
  const [weights, first, second] = [1, 2, 3].map((seed) => randomWeights(SPEC, seed)) as [
    Weights,
    Weights,
    Weights,
  ]
  const optimizer = { steps: 9, first, second }
  const trainer = {
    weights: async () => weights,
    optimizer: async () => optimizer,
  } as Partial<Engine> as Engine
  const plugins = [{ plugin: 'skill/library', version: 2, bytes: Uint8Array.of(1, 2, 3) }]
  const writer = {
    name: 'writer',
    model: 'a'.repeat(64),
    spec: SPEC,
    state: async () => ({ weights: first, optimizer: { ...optimizer, steps: 4 } }),
  }
  await saveNode(
    {
      ...model,
      version: 9,
      rounds: 9,
      counters: {},
      plugins,
      roles: [writer],
      base: { name: 'tiny', directory: '/model' },
    },
    { trainer, checkpoints: by.checkpoints },
  )
  const restored = (await restoreNode(model, by))!
  expect(restored.plugins).toEqual(plugins)
  expect(await restoreRole(restored, writer, by)).toEqual({
    weights: first,
    optimizer: { ...optimizer, steps: 4 },
  })
  expect(await restoreRole(restored, { ...writer, name: 'reader' }, by)).toBeUndefined()
  await expect(restoreRole(restored, { ...writer, model: 'b'.repeat(64) }, by)).rejects.toThrow(
    /another model/,
  )
  await expect(restoreRole(restored, { ...writer, spec: { ...SPEC, width: 32 } }, by)).rejects.toThrow()
})
