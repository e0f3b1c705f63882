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
  looks: [
    { step: 0, sampled: [0.45, 0.525, 0.525, 0.5375, 0.5375], questions: 80 },
    { step: 15, sampled: [0.8625, 0.925, 0.925, 0.8625, 0.8], questions: 80 },
  ],
  greedy: [0.925, 0.95, 0.975, 0.9375, 0.9125],
  processorSeconds: [673, 723, 625, 624, 710],
  peakBytes: 3_220_000_000,
  recorded: {
    command:
      'npm run -s lab:up -- --arms extract-json --model SmolLM2-135M-Instruct.Q4_1.gguf --steps 0,15 --questions 80 --seeds 1,2,3,4,5',
    file: 'docs/results/up.jsonl',
  },
} satisfies Recipe
