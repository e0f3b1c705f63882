// Tells how a config differs from its recipe.

import type { RecipeInfo } from '../../../protocol/api/index.ts'
import { differenceOf } from '../live.ts'
import { type Config, configSchema } from '../schema.ts'
import { setAt } from '../sources.ts'
import { RECIPES, type RecipeName } from './index.ts'

/** Sections that decide what is learnt. The others decide where, how fast, and with whom. */
const LEARNING =
  /^(tasks|training|rollout|estimator|corrections|selector|hints|replay|skills|controls|roles|environments|model\.(max_completion_tokens|stop))\b/

/** For the snapshot. `parameters`: of the model that is trained. Undefined without a recipe. */
export function recipeInfo(config: Config, parameters: number): RecipeInfo | undefined {
  if (config.recipe === undefined) return undefined
  const recipe = RECIPES[config.recipe]
  const { live, restart } = differenceOf(configOf(config.recipe), config)
  const changed = [...live, ...restart].map(({ path }) => path).filter((path) => LEARNING.test(path))
  return {
    name: config.recipe,
    looks: recipe.looks.map((look) => ({ ...look })),
    changed,
    ...(parameters === recipe.parameters ? {} : { isOtherModel: true }),
    ...(changed.includes('tasks') || changed.includes('environments') ? { isOtherTask: true } : {}),
  }
}

/** Read once, because a snapshot is made every two seconds. */
const read = new Map<RecipeName, Config>()

function configOf(name: RecipeName): Config {
  const known = read.get(name)
  if (known) return known
  const values: Record<string, unknown> = {}
  for (const [path, value] of Object.entries(RECIPES[name].values)) setAt(values, path.split('.'), value)
  const config = configSchema.parse(values)
  read.set(name, config)
  return config
}
