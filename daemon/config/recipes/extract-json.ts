// SmolLM2 writes what a sentence says as JSON that a schema checks. The warm start teaches the form, so that prompts need no
// example, which would double their length.

import type { Recipe } from './recipe.ts'
import { sorting } from './sorting.ts'

export const extractJson = {
  summary: 'SmolLM2-135M-Instruct learns to write an order as JSON that a schema checks',
  model: sorting.model,
  parameters: sorting.parameters,
  values: {
    ...sorting.values,
    tasks: [{ name: 'json_extraction', difficulty: 1 }],
    'model.max_completion_tokens': 48,
    'eval.prompts_per_task': 40,
  },
  looks: [],
  greedy: [],
  processorSeconds: [],
} satisfies Recipe
