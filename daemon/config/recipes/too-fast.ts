// A lesson: the same as three-tasks at twenty times the learning rate.

import type { Recipe } from './recipe.ts'

export const tooFast: Recipe = {
  summary: 'a lesson: the bundled model at a learning rate that is too high',
  parameters: 1_051_008,
  values: { 'training.learning_rate': 2e-3 },
  looks: [],
  greedy: [],
  processorSeconds: [],
  command: 'npm run -s lab:up -- --arms too-fast --steps 0,10,20,40,60 --seeds 1,2,3,4,5',
  record: 'docs/results/up.jsonl',
  lesson: '',
}
