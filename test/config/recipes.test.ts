import { readFileSync } from 'node:fs'
import { stringify } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { recipeInfo } from '../../daemon/config/recipes/compare.ts'
import { RECIPE_NAMES, RECIPES, type Recipe } from '../../daemon/config/recipes/index.ts'
import { configSchema } from '../../daemon/config/schema.ts'
import { layer } from '../../daemon/config/sources.ts'

const layers = (text: string, homeModel?: string) =>
  layer({ file: { name: 'config.toml', text }, env: {}, flags: [], reserved: new Set(), homeModel })
const read = (text: string) => configSchema.parse(layers(text).values)
const SORTING = RECIPES.sorting

describe('a recipe', () => {
  test.each(RECIPE_NAMES)('%s has values that the config accepts', (name) => {
    expect(recipeInfo(read(`recipe = "${name}"`), 1)?.changed).toEqual([])
  })

  test('lies under the file and over the defaults', () => {
    const config = read('recipe = "sorting"\n[training]\nlearning_rate = 1e-5\n')
    expect(config.training.learning_rate).toBe(1e-5)
    expect(config.tasks[0]!.name).toBe('number_sorting')
  })

  test('that nobody names is that of a model without tasks', () => {
    expect(read('').recipe).toBe('three-tasks')
    expect(read('[model]\npath = "a.gguf"\n').recipe).toBe('sorting')
    expect(read('[model]\npath = "folder"\n').recipe).toBeUndefined()
    expect(read('[[tasks]]\nname = "bf"\n').recipe).toBeUndefined()
  })

  test('is kept by a config that writes out the default tasks', () => {
    const { tasks } = read('')
    expect(read(stringify({ tasks })).recipe).toBe('three-tasks')
  })

  test('of another model than the bundled one is refused where no model is named', () => {
    expect(layers('recipe = "sorting"\n').problems).toEqual([
      { where: 'config.toml:1', path: 'recipe', message: expect.stringMatching(/^needs a model: SmolLM2/) },
    ])
    expect(layers('recipe = "sorting"\n[model]\npath = "a.gguf"\n').problems).toEqual([])
    expect(layers('recipe = "sorting"\n', 'a.gguf').problems).toEqual([])
    expect(layers('recipe = "three-tasks"\n').problems).toEqual([])
  })

  test('that does not exist is refused with those that do', () => {
    expect(() => read('recipe = "sortin"')).toThrow(/three-tasks/)
  })
})

describe('a config with a recipe', () => {
  const info = (text: string, parameters = SORTING.parameters) => recipeInfo(read(text), parameters)!

  test('names what differs and decides what is learnt', () => {
    expect(info('recipe = "sorting"\n[training]\nlearning_rate = 1\n').changed).toEqual([
      'training.learning_rate',
    ])
    expect(info('recipe = "sorting"\n[node]\nname = "a"\n').changed).toEqual([])
  })

  test('is not compared where model or tasks are others', () => {
    expect(info('recipe = "sorting"').isOtherModel).toBeUndefined()
    expect(info('recipe = "sorting"', 1).isOtherModel).toBe(true)
    expect(info('recipe = "sorting"\n[[tasks]]\nname = "bf"\n').isOtherTask).toBe(true)
  })
})

test.each(Object.entries<Recipe>(RECIPES))('the runs of %s are as many at each look', (_, recipe) => {
  const { looks, greedy, processorSeconds, agent } = recipe
  const runs = looks[0]?.sampled.length ?? 0
  expect(looks.map(({ sampled }) => sampled.length)).toEqual(looks.map(() => runs))
  expect(greedy).toHaveLength(agent ? 0 : runs)
  expect(processorSeconds).toHaveLength(runs)
})

test.each(Object.entries<Recipe>(RECIPES))('%s has the looks of its records', (name, { looks, recorded }) => {
  if (!recorded) return
  const at = new URL(`../../${recorded.file}`, import.meta.url)
  const rows = readFileSync(at, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const runs = rows.filter(({ arm }) => arm === name)
  const looksOf = (run: (typeof runs)[number]) =>
    run.looks?.map(({ sampled }: { sampled: number }) => sampled) ??
    [run.before, run.after].map(({ solved, prompts }) => solved / prompts)
  const recordedLooks = runs.map(looksOf)
  const isOf = (some: number[]) =>
    recordedLooks.some((one) => some.every((value, i) => Math.abs(value - one[i]) < 6e-5))
  for (const [run] of looks[0]!.sampled.entries())
    expect(isOf(looks.map(({ sampled }) => sampled[run]!)), `${name}, run ${run + 1}`).toBe(true)
})
