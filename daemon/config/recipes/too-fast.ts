// A lesson: a learning rate that is too high. The reward falls, the node goes back to an earlier checkpoint, and it falls again.

import type { Recipe } from './recipe.ts'
import { threeTasks } from './three-tasks.ts'

export const tooFast: Recipe = {
  summary: 'a lesson that fails: the bundled model at thirty times its learning rate',
  parameters: threeTasks.parameters,
  values: { ...threeTasks.values, 'training.learning_rate': 3e-3 },
  looks: [],
  greedy: [],
  processorSeconds: [],
  recorded: {
    command: 'npm run -s lab:up -- --arms too-fast --steps 0,30 --seeds 1,2,3,4,5',
    file: 'docs/results/up.jsonl',
  },
}
