// A node gets to know its peers by groups without a signal, which it does not train on: who writes as it does, and who does
// not. Two real nodes of the default model.

import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { evidenceIn } from '../../daemon/trainer/watch.ts'
import type { GroupDraft } from '../../protocol/wire/index.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { createNode, type ExperimentNode } from '../../scripts/lab/nodes/node.ts'

vi.setConfig({ testTimeout: 240_000 })

let model: Model
const engines = { node: createLocalEngine({ threads: 1 }), peer: createLocalEngine({ threads: 1 }) }
afterAll(() => Promise.all([engines.node.close(), engines.peer.close()]))
beforeAll(async () => {
  model = await loadModel(fileURLToPath(new URL('../../models/default', import.meta.url)), { disk })
})

/** Asked what it never gets right, a node has no group with a signal. */
const create = (name: 'node' | 'peer', seed: number): Promise<ExperimentNode> =>
  createNode({
    ...{ name, seed, model, tasks: [{ name: 'decimal_arithmetic', difficulty: 2 }], engine: engines[name] },
    ...{ own: 4, foreign: 8, adaptive: false, groupSize: 4, maxNewTokens: 64 },
  })

const likenessIn = (node: ExperimentNode) =>
  node.learner.sharing()?.contributors.find(({ peer }) => peer === 'peer')?.likeness

/** Rounds in which the node gets what the peer shares, changed. */
async function meet(rounds: number, change: (draft: GroupDraft) => GroupDraft = (draft) => draft) {
  const [node, peer] = [await create('node', 1), await create('peer', 2)]
  let shared = 0
  for (let round = 0; round < rounds; round++) {
    for (const draft of (await peer.round()).shared) {
      node.receive('peer', change(draft))
      shared += 1
    }
    expect((await node.round()).step?.foreign ?? 0).toBe(0)
  }
  return { node, shared }
}

test('an honest peer is known for a twin before any of its groups had a signal', async () => {
  const { node, shared } = await meet(8)
  expect(shared).toBeGreaterThanOrEqual(24)
  expect(likenessIn(node)).toBe('matched')
  // It needs no more such groups.
  expect(node.learner.isUnknown('peer')).toBe(false)
})

test('a peer whose text no policy like this one writes is known for a guide', async () => {
  const text = 'zq zq zq 7 7 7'
  const { node } = await meet(4, ({ rollouts, ...draft }) => ({
    ...draft,
    rollouts: rollouts.map(({ finish }, i) => {
      const tokens = model.tokenizer.encodeCompletion(`${text} ${draft.prompt.seed} ${i}`, finish)
      return {
        text: model.tokenizer.decodeCompletion(tokens),
        ...{ finish, tokens, segments: [{ version: 0, start: 0, length: tokens.length }] },
      }
    }),
  }))
  expect(likenessIn(node)).toBe('mismatched')
  expect(node.findings).toContainEqual(expect.objectContaining({ guard: 'unlike', peers: ['peer'] }))
})

test('tokens are counted by their place in the order of probability; reported log-probs by their mean weight', () => {
  const of = (...values: number[]) => Float32Array.from(values)
  const score = {
    ...{ logprobs: of(-1, -2, -3), entropies: of(1, 1, 0.1), collisions: of(0, 0, 0) },
    pit: { above: of(0, 0.4, 0.9995), ties: of(0.1, 0.2, 0.0005) },
  }
  const { counts, weight } = evidenceIn([{ behaviourLogprobs: of(-1, Number.NaN, -4) }], [score], () => 0.5)
  // Places 0.05 and 0.5 in doubt, and one above 0.999 of the others.
  expect(counts.flatMap((count, bin) => (count > 0 ? [bin] : []))).toEqual([0, 4, 27])
  expect(weight).toBeCloseTo((1 + Math.E) / 2, 5)
  expect(evidenceIn([{}], [score], () => 0.5).weight).toBeUndefined()
})
