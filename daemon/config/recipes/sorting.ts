// SmolLM2 sorts three numbers: what a GGUF file starts with if the config names no tasks. The default tasks are those
// that the bundled model was made for; a small chat model answers them wrongly or without answer tags, and a reward
// that is always 0 teaches nothing. A warm start on worked answers teaches the form.

import type { Recipe } from './recipe.ts'

export const sorting = {
  summary: 'SmolLM2-135M-Instruct learns to sort three numbers',
  model: 'SmolLM2-135M-Instruct in Q4_1 (98 MB), a GGUF file as Ollama, LM Studio or llama.cpp download it',
  parameters: 134_515_008,
  values: {
    tasks: [{ name: 'number_sorting', difficulty: 0, examples: 1 }],
    'model.max_completion_tokens': 24,
    'warm_start.steps': 20,
    'warm_start.examples': 32,
    'warm_start.learning_rate': 1e-3,
    'training.learning_rate': 3e-4,
    'training.batch_groups': 8,
    'rollout.groups_per_round': 8,
    'eval.every_seconds': 1800,
    'eval.prompts_per_task': 60,
  },
  looks: [
    { step: 0, sampled: [0.54, 0.59, 0.61, 0.61, 0.57], questions: 100 },
    { step: 20, sampled: [0.69, 0.75, 0.65, 0.74, 0.63], questions: 100 },
  ],
  greedy: [0.72, 0.75, 0.73, 0.77, 0.66],
  processorSeconds: [645, 815, 751, 581, 573],
  peakBytes: 3_000_000_000,
  recorded: {
    command:
      'npm run -s lab:up -- --model SmolLM2-135M-Instruct.Q4_1.gguf --steps 0,20 --questions 100 --seeds 1,2,3,4,5',
    file: 'docs/results/up.jsonl',
  },
} satisfies Recipe
