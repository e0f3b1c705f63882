// The whole learning path on the real engine, model and tasks: whatever is wired wrongly between a rollout and a weight
// (signs, masks, columns, advantages, shifts by one token) shows here as a node that does not learn, and whatever is on the
// way of a peer's group into a step as one that learns no faster with others than alone.

import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadModel } from '../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import { createNode } from '../../scripts/lab/nodes/node.ts'
import { runRounds } from '../../scripts/lab/nodes/swarm.ts'

/** Sums, of which only the form of the answer counts: half of the model's answers have it, and all could. */
const base = TASKS.find(({ name }) => name === 'basic_arithmetic')!
const inTags: Task = {
  ...base,
  name: 'in_tags',
  verify(instance, completion) {
    const verdict = base.verify(instance, completion)
    return { ...verdict, score: verdict.found === 'tag' ? 1 : 0 }
  },
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length

test('a node alone learns to give nearly all answers in the form that counts', async () => {
  const model = await loadModel(fileURLToPath(new URL('../../models/three-tasks', import.meta.url)), { disk })
  const node = await createNode({
    name: 'alone',
    seed: 1,
    model,
    known: [inTags],
    tasks: [{ name: inTags.name, difficulty: 0 }],
    own: 8,
    foreign: 0,
    adaptive: false,
    learningRate: 3e-4,
    warmUpSteps: 3,
    maxNewTokens: 48,
  })
  const rewards: number[] = []
  for (let round = 0; round < 16; round++) rewards.push((await node.round()).reward)
  await node.close()
  expect(mean(rewards.slice(0, 3))).toBeLessThan(0.75)
  expect(mean(rewards.slice(-5))).toBeGreaterThan(0.95)
}, 60_000)

test('four nodes that share learn faster than the same four alone', async () => {
  const model = await loadModel(fileURLToPath(new URL('../../models/three-tasks', import.meta.url)), { disk })
  const swarm = async (seed: number, foreign: number): Promise<number> => {
    const nodes = await Promise.all(
      Array.from({ length: 4 }, (_, i) =>
        createNode({
          name: `node ${i}`,
          seed: 100 * seed + i,
          model,
          known: [inTags],
          tasks: [{ name: inTags.name, difficulty: 0 }],
          own: 1,
          foreign,
          adaptive: true,
          learningRate: 2e-4,
          warmUpSteps: 3,
          maxNewTokens: 48,
          groupSize: 4,
        }),
      ),
    )
    const rewards: number[] = []
    await runRounds(
      { rounds: 20 },
      { nodes, onRound: ({ reports }) => void rewards.push(mean(reports.map(({ reward }) => reward))) },
    )
    for (const node of nodes) await node.close()
    return mean(rewards.slice(5))
  }
  // Of seeds 1 to 5, sharing was 0.013, 0.013, 0.025, 0.021 and 0.021 above.
  expect((await swarm(3, 3)) - (await swarm(3, 0))).toBeGreaterThan(0.008)
}, 180_000)
