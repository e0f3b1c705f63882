// Gemma 3 270M, a base model: it has not learnt to answer, and gets nothing right at first. Without a warm start it learns the
// answer tags and the task from rewards alone, since a node ends answers at `</answer>`.

import type { Recipe } from './recipe.ts'
import { sorting } from './sorting.ts'

export const baseModel = {
  summary: 'Gemma 3 270M, a base model, learns to write answer tags and to sort three numbers',
  model: 'Gemma 3 270M in Q4_K_M (253 MB), the base model as a GGUF file',
  parameters: 268_098_176,
  values: {
    tasks: sorting.values.tasks,
    'model.max_completion_tokens': 20,
    'training.method': 'lora',
    'training.learning_rate': 1e-4,
    'training.batch_groups': 8,
    'rollout.groups_per_round': 8,
    'eval.every_seconds': 1800,
    'eval.prompts_per_task': 40,
  },
  looks: [],
  greedy: [],
  processorSeconds: [],
} satisfies Recipe
