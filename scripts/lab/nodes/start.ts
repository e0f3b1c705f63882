// The starting point of experiments: a made model, and the single-turn tasks of its recipe at the difficulties that
// its card gives. `three-tasks` knows what a fresh node learns, and never changes, so that figures can be reproduced.

import { fileURLToPath } from 'node:url'
import { loadModel, type Model } from '../../../daemon/policy/model.ts'
import type { TaskChoice } from '../../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { RECIPES, type Recipe } from '../../default-model/recipes.ts'

const FOLDERS = new URL('../../../models/', import.meta.url)

export const folderOf = (model: string): string => fileURLToPath(new URL(model, FOLDERS))

export async function loadStart(name: string): Promise<{ model: Model; tasks: TaskChoice[] }> {
  const recipe: Recipe | undefined = Object.values(RECIPES).find(({ folder }) => folder === `models/${name}`)
  if (!recipe)
    throw new Error(
      `no model ${name} among ${Object.values(RECIPES)
        .map((r) => r.folder)
        .join(', ')}`,
    )
  const tasks = TASKS.filter(({ environment }) => !environment).flatMap(({ name: task }) => {
    const part = recipe.tasks[task]
    return part ? [{ name: task, difficulty: part.evaluated }] : []
  })
  return { model: await loadModel(folderOf(name), { disk }), tasks }
}
