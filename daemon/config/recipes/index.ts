// The recipes, by name.

import { isGguf } from '../presets.ts'
import { calculator, shop } from './agents.ts'
import { extractJson } from './extract-json.ts'
import { halfBillion } from './half-billion.ts'
import type { Recipe } from './recipe.ts'
import { sorting } from './sorting.ts'
import { threeTasks } from './three-tasks.ts'
import { tooFast } from './too-fast.ts'

export type { Recipe } from './recipe.ts'

export const RECIPES = {
  'three-tasks': threeTasks,
  sorting,
  'extract-json': extractJson,
  calculator,
  shop,
  'too-fast': tooFast,
  'half-billion': halfBillion,
} as const satisfies Record<string, Recipe>

export type RecipeName = keyof typeof RECIPES
export const RECIPE_NAMES = Object.keys(RECIPES) as [RecipeName, ...RecipeName[]]

export const isRecipe = (name: unknown): name is RecipeName =>
  typeof name === 'string' && Object.hasOwn(RECIPES, name)

export const isBundled = (path: unknown): boolean => path === undefined || path === 'default'

/** The recipe of a config that names neither a recipe nor tasks, by its `model.path`. Undefined for other models. */
export function recipeFor(path: unknown): RecipeName | undefined {
  if (isBundled(path)) return 'three-tasks'
  return isGguf(path) ? 'sorting' : undefined
}
