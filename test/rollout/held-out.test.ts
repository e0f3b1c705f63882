// An evaluation asks different questions, and says how many there were.

import { expect, test } from 'vitest'
import { heldOutPrompts } from '../../daemon/rollout/evaluation/held-out.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { isHeldOut } from '../../protocol/train/index.ts'

const named = (name: string) => TASKS.find((task) => task.name === name)!
const questionsOf = async (name: string, difficulty: number, wanted: number): Promise<string[]> => {
  const prompts = await heldOutPrompts(named(name), difficulty, wanted)
  expect(prompts.every(({ seed }) => isHeldOut(seed))).toBe(true)
  return prompts.map((at) => named(name).generate(at).question)
}

test.each(['basic_arithmetic', 'base_conversion'])('200 questions of %s at level 1 are 200', async (name) => {
  const asked = await questionsOf(name, 1, 200)
  expect(asked).toHaveLength(200)
  expect(new Set(asked).size).toBe(200)
})

test('a level with few questions gives all of them, each once', async () => {
  const all = new Set(
    Array.from(
      { length: 2000 },
      (_, i) => named('fraction_simplification').generate({ seed: 2 ** 31 + i, difficulty: 0 }).question,
    ),
  )
  expect(all.size).toBeLessThan(20)
  expect((await questionsOf('fraction_simplification', 0, 100)).sort()).toEqual([...all].sort())
})

test('the prompts of a small evaluation are the first ones of a large one', async () => {
  const [few, many] = [await questionsOf('bf', 1, 20), await questionsOf('bf', 1, 60)]
  expect(many.slice(0, 20)).toEqual(few)
})
