// Where to begin with a pretrained model of half a billion parameters, which none of our machines had.

import type { Recipe } from './recipe.ts'

export const halfBillion: Recipe = {
  summary: 'Qwen2.5-0.5B-Instruct does sums with working; not run by us',
  model:
    'Qwen/Qwen2.5-0.5B-Instruct, which `waggle model pull` downloads; others of 0.3 to 1 B parameters may do as well',
  parameters: 494_032_768,
  values: {
    tasks: [{ name: 'basic_arithmetic', difficulty: 1 }],
    'model.max_completion_tokens': 128,
    'training.learning_rate': 2e-5,
    'training.batch_groups': 4,
    'rollout.groups_per_round': 4,
    'eval.every_seconds': 1800,
    'eval.prompts_per_task': 20,
  },
  looks: [],
  greedy: [],
  processorSeconds: [],
}
