// A lesson: a learning rate that is too high, with all parameters trained. Within 30 steps next to no answer is right, so
// that hardly any group has a signal, and 30 steps take eight times the usual processor time.

import type { Recipe } from './recipe.ts'
import { threeTasks } from './three-tasks.ts'

export const tooFast: Recipe = {
  summary: 'a lesson that fails: all parameters of the bundled model at thirty times their learning rate',
  parameters: threeTasks.parameters,
  values: { ...threeTasks.values, 'training.method': 'full', 'training.learning_rate': 3e-3 },
  looks: [
    { step: 0, sampled: [0.0956], questions: 527 },
    { step: 30, sampled: [0.0033], questions: 527 },
  ],
  greedy: [0.0076],
  processorSeconds: [490],
  recorded: {
    command: 'npm run -s lab:up -- --arms too-fast --steps 0,30 --seeds 1',
    file: 'docs/results/up.jsonl',
  },
}
