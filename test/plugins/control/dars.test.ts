import { describe, expect, it } from 'vitest'
import dars, { extraRollouts } from '../../../plugins/control/dars.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { landed, playRound } from '../hints/round.ts'
import { groupOf, withSettings } from '../samples.ts'

const task = TASKS.find(({ name }) => name === 'basic_arithmetic')!
const view = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 0, self: 'self' }
const promptAt = (seed: number) => ({ task: task.name, taskVersion: task.version, seed, difficulty: 0 })

/** A round over prompts of which the first rollouts, so many of 8, are right; later ones by `later`. */
function play(given: object, right: number[], tokens?: number, later = (_i: number) => false) {
  const context = createScriptedContext({ tasks: [task], limits: { context: 512, completion: 16 } })
  const landing = { context, task, plugin: 'control/dars' }
  const first = right.map((count, seed) =>
    landed({ prompt: promptAt(seed), rollouts: 8 }, { ...landing, right: (_after, index) => index < count }),
  )
  return playRound(
    withSettings(dars, { ...given }),
    first,
    { ...landing, right: (_after, index) => later(index) },
    tokens,
  )
}

describe('dars', () => {
  it.each([
    ['equal', false, 32, [24, 11, 3, 1, 0, 0, 0, 0, 0]],
    ['equal', true, 32, [9, 5, 2, 1, 0, 0, 0, 0, 0]],
    ['weighted', false, 64, [56, 24, 8, 3, 0, 0, 0, 0, 0]],
    ['weighted', true, 64, [23, 14, 6, 3, 0, 0, 0, 0, 0]],
  ] as const)('has the published table: %s, with the deviation %s', (schedule, deviation, most, wanted) => {
    const table = wanted.map((_, right) => extraRollouts(right, 8, { schedule, deviation, most }))
    expect(table).toEqual(wanted)
  })

  it('lifts every hard group to the peak of medium ones, and not by one rollout more', () => {
    for (let count = 2; count <= 40; count++)
      for (let right = 1; 2 * right < count; right++) {
        const a = right / count
        const total =
          count + extraRollouts(right, count, { schedule: 'equal', deviation: false, most: 10_000 })
        expect(total * 2 * a * (1 - a)).toBeGreaterThanOrEqual(0.5 * count - 1e-9)
        expect((total - 1) * 2 * a * (1 - a)).toBeLessThan(0.5 * count)
        const rooted =
          count + extraRollouts(right, count, { schedule: 'equal', deviation: true, most: 10_000 })
        expect(rooted * 2 * Math.sqrt(a * (1 - a))).toBeGreaterThanOrEqual(count - 1e-9)
      }
  })

  it('asks once, for the hard prompts only, and makes one group of both rounds', async () => {
    const { groups, asked } = await play({}, [0, 3, 4, 8], undefined, (index) => index === 0)
    expect(asked.map((requests) => requests.map(({ rollouts }) => rollouts))).toEqual([[24, 1]])
    expect(groups.map(({ rollouts }) => rollouts.length)).toEqual([32, 9, 8, 8])
    expect(groups.map(({ arm, origin }) => [arm, origin])).toEqual(Array(4).fill(['base', undefined]))
    const right = groups.map(({ rollouts }) => rollouts.filter(({ reward }) => reward === 1).length)
    expect(right).toEqual([1, 4, 4, 8])
    expect(new Set(groups.map(({ id }) => id)).size).toBe(4)
  })

  it('asks for no more than its tokens allow', async () => {
    const { asked } = await play({}, [0, 0], 16 * 30)
    expect(asked[0]!.map(({ rollouts }) => rollouts)).toEqual([24, 6])
    expect((await play({}, [0, 0], 15)).asked).toEqual([])
  })

  it('leaves groups without a signal out of a batch, and in a round for those who count', async () => {
    const hooks = withSettings(dars)
    const groups: Group[] = [groupOf([0, 0]), groupOf([1, 0]), groupOf([1, 1], { always: true })]
    const at = (where: 'round' | 'batch') =>
      hooks.group!(groups, { ...view, at: where }, createScriptedContext())
    expect(await at('round')).toHaveLength(3)
    expect(await at('batch')).toEqual(groups.slice(1))
  })
})
