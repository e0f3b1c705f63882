// SmolLM2 sorts three to five numbers, in either order. It gives next to no right answer at first, so a warm start shows it some.

import type { Recipe } from './recipe.ts'

export const sortingMore: Recipe = {
  summary: 'SmolLM2-135M-Instruct learns to sort three to five numbers in either order, after a warm start',
  model: 'SmolLM2-135M-Instruct in Q4_1 (98 MB), a GGUF file as Ollama, LM Studio or llama.cpp download it',
  parameters: 134_515_008,
  values: {
    tasks: [{ name: 'number_sorting', difficulty: 1, examples: 1 }],
    'model.max_completion_tokens': 32,
    'training.method': 'lora',
    'training.learning_rate': 3e-4,
    'training.batch_groups': 8,
    'warm_start.steps': 20,
    'warm_start.examples': 32,
    'rollout.groups_per_round': 8,
    'eval.every_seconds': 1800,
    'eval.prompts_per_task': 60,
  },
  looks: [],
  greedy: [],
  processorSeconds: [],
  command: 'npm run -s lab:up -- --arms sorting-more --model SmolLM2-135M-Instruct.Q4_1.gguf --steps 0,20 --seeds 1,2,3',
  record: 'docs/results/up.jsonl',
}
