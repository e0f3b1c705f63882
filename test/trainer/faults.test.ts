// Faults injected into real runs of a small model: what a guard must see, what it must do, and that training goes on.

import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Weights } from '../../daemon/engine/weights.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import type { Finding } from '../../daemon/trainer/learning/contract.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import type { GroupDraft } from '../../protocol/wire/index.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { createNode, type ExperimentNode, type NodeOptions } from '../../scripts/lab/nodes/node.ts'

// Twenty times what it takes on an idle machine.
vi.setConfig({ testTimeout: 120_000 })

let model: Model
/** Compiled graphs are kept over the tests. */
const engines = { a: createLocalEngine({ threads: 1 }), b: createLocalEngine({ threads: 1 }) }
afterAll(() => Promise.all([engines.a.close(), engines.b.close()]))
beforeAll(async () => {
  model = await loadModel(fileURLToPath(new URL('../../models/default', import.meta.url)), { disk })
})

/** Only the form of the answer counts, so that most groups have a signal whatever the model can do. */
const fractions = TASKS.find(({ name }) => name === 'fraction_simplification')!
const inTags: Task = {
  ...fractions,
  name: 'in_tags',
  verify(instance, completion) {
    const verdict = fractions.verify(instance, completion)
    return { ...verdict, score: verdict.found === 'tag' ? 1 : 0 }
  },
}

const create = (name: 'a' | 'b', options: Partial<NodeOptions> = {}): Promise<ExperimentNode> =>
  createNode({
    name,
    seed: 5,
    model,
    known: [inTags],
    tasks: [{ name: inTags.name, difficulty: 1 }],
    own: 3,
    foreign: 3,
    adaptive: true,
    groupSize: 4,
    maxNewTokens: 40,
    checkpointEvery: 4,
    engine: engines[name],
    ...options,
  })

/** Rounds until a condition holds; fails if it never does. */
async function until(
  node: ExperimentNode,
  limit: number,
  done: (node: ExperimentNode) => boolean,
): Promise<number> {
  for (let round = 1; round <= limit; round++) {
    await node.round()
    if (done(node)) return round
  }
  throw new Error(`not within ${limit} rounds; seen: ${JSON.stringify(node.findings)}`)
}

const guard =
  (name: string) =>
  ({ findings }: Pick<ExperimentNode, 'findings'>): Finding | undefined =>
    findings.find((finding) => finding.type === 'guard' && finding.guard === name)

async function allFinite({ policy }: ExperimentNode): Promise<boolean> {
  const [weights, { first, second }] = await Promise.all([
    policy.trainer.weights(),
    policy.trainer.optimizer(),
  ])
  return [weights, first, second].every((tensors: Weights) =>
    Object.values(tensors).every((values) => values.every(Number.isFinite)),
  )
}

/** Groups as a peer with the same model would send them. */
async function drafts(peer: ExperimentNode): Promise<GroupDraft[]> {
  const found: GroupDraft[] = []
  while (found.length < 2) found.push(...(await peer.round()).shared)
  return found
}

test('a weight that is not finite: steps are skipped, and after three the last good state is back', async () => {
  const node = await create('a')
  await until(node, 30, ({ policy }) => policy.reference().version >= 6)
  const weights = await node.policy.trainer.weights()
  // Only the trainer's copy breaks, as memory or an optimizer would; one engine does both here, so it samples on.
  weights['model.norm.weight']![0] = Number.NaN
  const trainer = engines.a
  const before = trainer.generate
  trainer.generate = async (request, options) => {
    const broken = await trainer.weights()
    await trainer.setWeights(model.weights)
    const samples = await before(request, options)
    await trainer.setWeights(broken)
    return samples
  }
  await trainer.setWeights(weights)
  expect(await allFinite(node)).toBe(false)
  await until(node, 30, (one) => guard('roll-back')(one) !== undefined)
  trainer.generate = before
  expect(node.findings.filter((f) => f.type === 'guard' && f.guard === 'not finite')).toHaveLength(3)
  expect(await allFinite(node)).toBe(true)
  const { version } = node.policy.reference()
  await until(node, 20, ({ policy }) => policy.reference().version > version + 1)
  expect(await allFinite(node)).toBe(true)
})

test('a policy that falls apart is taken back within 20 steps; an honest peer is not blamed, and not learnt from for a while', async () => {
  const [node, peer] = [await create('a', { own: 6 }), await create('b', { seed: 6 })]
  await until(node, 60, ({ policy }) => policy.reference().version >= 14)
  for (const draft of await drafts(peer)) node.receive('b', draft)
  await until(node, 10, ({ learner }) => (learner.sharing()?.contributors.length ?? 0) > 0)
  const good = (await node.evaluate(120)).sampled
  const weights = await node.policy.trainer.weights()
  for (const [name, values] of Object.entries(weights))
    if (name.endsWith('down_proj.weight')) for (let i = 0; i < values.length; i++) values[i]! *= 4
  await node.policy.trainer.setWeights(weights)
  const { version } = node.policy.reference()
  await until(node, 60, (one) => guard('roll-back')(one) !== undefined)
  expect(node.policy.reference().version - version).toBeLessThanOrEqual(21)
  expect(guard('roll-back')(node)).toMatchObject({
    peers: [],
    message: expect.stringMatching(/went back/),
  })
  expect(node.learner.sharing()?.foreign).toBe(0)
  expect(node.learner.state().setAside).toEqual([])
  expect((await node.evaluate(120)).sampled).toBeGreaterThan(0.5 * good)
})

test('a peer that understates its log-probs is found out: they are not used, and its groups weigh nothing', async () => {
  const [node, peer] = [await create('a', { adaptive: false }), await create('b', { seed: 7 })]
  const send = async (forge: (logprob: number) => number): Promise<void> => {
    for (const draft of await drafts(peer)) {
      node.receive('b', {
        ...draft,
        rollouts: draft.rollouts.map((rollout) => ({
          ...rollout,
          behaviourLogprobs: rollout.behaviourLogprobs!.map(forge),
        })),
      })
    }
    await node.round()
  }
  const likeness = () => node.learner.sharing()?.contributors.find(({ peer: name }) => name === 'b')?.likeness
  for (let i = 0; i < 6; i++) await send((x) => x)
  expect(likeness()).not.toBe('mismatched')
  for (let i = 0; i < 12 && likeness() !== 'mismatched'; i++) await send((x) => x - 3)
  expect(likeness()).toBe('mismatched')
  expect(guard('unlike')(node)).toMatchObject({ peers: ['b'] })
})

test("a peer's numbers that are not finite reach no weight", async () => {
  const [node, peer] = [await create('a'), await create('b', { seed: 8 })]
  for (const draft of await drafts(peer)) {
    const rollouts = draft.rollouts.map((rollout) => ({
      ...rollout,
      behaviourLogprobs: rollout.behaviourLogprobs!.map(() => Number.NaN),
    }))
    node.receive('b', { ...draft, rollouts })
  }
  await until(node, 10, (one) => guard('not finite')(one) !== undefined)
  expect(guard('not finite')(node)).toMatchObject({ peers: ['b'] })
  expect(await allFinite(node)).toBe(true)
  expect(node.policy.reference().version).toBeGreaterThan(0)
})
