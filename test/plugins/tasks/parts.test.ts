// Three parts of a task's questions: what models are made with, what training asks, and what is held out.

import { expect, test } from 'vitest'
import { partOf } from '../../../plugins/tasks/draw.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { drawExample } from '../../../scripts/default-model/corpus.ts'
import { randomFrom } from '../../../scripts/default-model/initial-weights.ts'
import { RECIPES } from '../../../scripts/default-model/recipes.ts'

test('of eight questions one is held out, three are for the warm start and four for training', () => {
  const counts = { 'held out': 0, 'warm start': 0, training: 0 }
  for (let i = 0; i < 8000; i++) counts[partOf('any', `question ${i}`)] += 1
  expect(counts['held out']).toBeGreaterThan(900)
  expect(counts['held out']).toBeLessThan(1100)
  expect(counts['warm start']).toBeGreaterThan(2850)
  expect(counts['warm start']).toBeLessThan(3150)
})

test.each(Object.keys(RECIPES))('recipe %s has no example that training or evaluation asks', (name) => {
  const recipe = RECIPES[name as keyof typeof RECIPES]
  const tasks = TASKS.filter((task) => task.name in recipe.tasks)
  const random = randomFrom(5)
  const examples = Array.from({ length: 600 }, () => drawExample(recipe, tasks, random))
  const asked = new Set<string>()
  // Levels with few questions, of which thousands of seeds ask all there are.
  for (const task of tasks.filter((one) => one.name !== 'propositional_logic' && one.name !== 'arc_1d'))
    for (let i = 0; i < 1000; i++)
      for (const from of [0, 2 ** 31]) asked.add(task.generate({ seed: from + i, difficulty: 0 }).question)
  expect(examples.filter(({ instance }) => asked.has(instance.question))).toEqual([])
})
