// The way back, over a node's loops with a real engine and real checkpoints: a run that goes wrong is taken back to
// what an earlier checkpoint has, what the lost weights wrote teaches nobody, nobody is blamed without evidence, and
// what the node has found out about its peers stays as it is.

import { afterEach, expect, test } from 'vitest'
import type { Weights } from '../../daemon/engine/weights.ts'
import { createGuards } from '../../daemon/trainer/guards/index.ts'
import { createRollBacks } from '../../daemon/trainer/roll-back.ts'
import { createAuthors } from '../../daemon/trainer/sharing/authors.ts'
import { createJudge } from '../../daemon/trainer/sharing/judge.ts'
import { type LoopedNode, startLooped } from './looped-node.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const NORM = 'model.norm.weight'

/** Logits three times as far apart: the policy hardly tries anything any more. */
const sharpen = (weights: Weights): void => {
  weights[NORM] = weights[NORM]!.map((value) => 3 * value)
}
const spoil = (weights: Weights): void => {
  weights[NORM]![0] = Number.NaN
}
const found = ({ findings }: LoopedNode, guard: string) =>
  findings.filter((finding) => finding.type === 'guard' && finding.guard === guard)

// An entropy is judged by twelve steps of before, and after three of now; losses that are not finite three at once.
test.each([
  ['whose entropy collapses', 'entropy', { at: 17, harm: sharpen }, { lost: 20, told: 1 }],
  ['whose loss is no number three times', 'not finite', { at: 8, harm: spoil }, { lost: 8, told: 3 }],
])(
  'a run %s goes back, and whoever wrote for it lately is not blamed for that',
  async (_, guard, accident, expected) => {
    const node = await startLooped({ accident }, (closer) => closers.push(closer))
    const { policy, findings } = node
    await node.until(() => found(node, 'roll-back').length > 0)
    expect(node.lost()).toBe(expected.lost)
    expect(found(node, guard)).toHaveLength(expected.told)
    // The oldest of those that are kept has to do, where all are younger than 20 versions.
    expect(findings.at(-1)).toMatchObject({
      guard: 'roll-back',
      message: expect.stringContaining('went back to the checkpoint of step 5;'),
      peers: [],
    })
    expect(await policy.trainer.weights()).toEqual(node.saved.get(5))
    expect(await node.sampler.weights()).toEqual(node.saved.get(5))
    expect(policy.reference().version).toBe(expected.lost + 1)
    expect(node.learner.state().setAside).toEqual([])

    // A node that dies now goes on alone when it starts again, as it does now.
    await node.until(() => node.saved.has(expected.lost + 1))
    expect((await node.checkpoints.list()).map(({ manifest }) => manifest.step)).toEqual([
      5,
      expected.lost + 1,
    ])
    const { policy: again, state } = (await node.restored())!
    expect(again.weights).toEqual(node.saved.get(5))
    expect(state.learner).toMatchObject({
      setAside: [],
      evidence: { judge: { resting: 20 } },
    })

    node.goOn()
    await node.until(() => policy.reference().version > expected.lost + 4)
    // Those of the round that was under way are not among them.
    expect(node.own.filter(({ bornVersion }) => bornVersion <= expected.lost)).toEqual([])
    expect(found(node, 'roll-back')).toHaveLength(1)
    expect(node.troubles).toEqual([])
  },
)

test('a roll-back sets those aside whose own groups seem to do harm, and nobody else who wrote for the last batches', async () => {
  const authors = createAuthors({})
  // Not sure enough for a verdict of its own.
  for (let i = 0; i < 16; i++) {
    authors.observe('mallory', { gain: i % 2 === 0 ? -1 : -0.1, own: 0.3, norm: 0.1 })
    authors.observe('honest', { gain: i % 3 === 0 ? -0.2 : 0.3, own: 0.3, norm: 0.1 })
  }
  expect(authors.save().setAside).toEqual([])
  const judge = createJudge({ settings: () => ({ limit: 4 }), adaptive: true })
  const guards = createGuards()
  const rollBacks = createRollBacks({ authors, judge, guards, restore: async () => ({ step: 5 }) })
  rollBacks.batch(['mallory', 'honest', 'new'])
  const plan = await rollBacks.handle({ guard: 'canary', message: 'reward fell', rollBack: true }, 40)
  expect(plan).toMatchObject({ restored: true, authors: ['mallory'] })
  expect(authors.save().setAside).toMatchObject([{ author: 'mallory', updates: 50 }])
  expect(judge.next().foreign).toBe(0)
})

test.each([
  ['to the version that the guard knows to be good', { goodAt: 12 }, 12],
  ['20 versions, if that is farther', { goodAt: 35 }, 20],
  ['20 versions, if the guard knows none', {}, 20],
])('a roll-back goes back %s', async (_, known, expected) => {
  const asked: number[] = []
  const rollBacks = createRollBacks({
    ...{ authors: createAuthors({}), guards: createGuards() },
    judge: createJudge({ settings: () => ({ limit: 4 }), adaptive: true }),
    async restore(before) {
      asked.push(before)
      return { step: 5 }
    },
  })
  await rollBacks.handle({ guard: 'weights', message: 'reward fell', rollBack: true, ...known }, 40)
  expect(asked).toEqual([expected])
})
