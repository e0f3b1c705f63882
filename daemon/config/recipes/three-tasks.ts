// The bundled model on its own three tasks, as `waggle up` does it without any setting.

import type { Recipe } from './recipe.ts'

export const threeTasks = {
  summary: 'the bundled model of 1 M parameters learns arithmetic, base conversion and fractions',
  parameters: 1_051_008,
  values: {
    tasks: [
      { name: 'basic_arithmetic', difficulty: 1 },
      { name: 'base_conversion', difficulty: 1 },
      { name: 'fraction_simplification', difficulty: 1 },
    ],
  },
  looks: [
    { step: 0, sampled: [0.0956, 0.0956, 0.0956, 0.0956, 0.0956], questions: 527 },
    { step: 30, sampled: [0.1623, 0.1428, 0.1235, 0.1366, 0.142], questions: 527 },
  ],
  greedy: [0.254, 0.2435, 0.2442, 0.2409, 0.2342],
  processorSeconds: [88, 66, 61, 54, 65],
  peakBytes: 533e6,
  recorded: {
    command: 'npm run -s lab:up -- --arms three-tasks --steps 0,30 --seeds 1,2,3,4,5',
    file: 'docs/results/up.jsonl',
  },
} satisfies Recipe
