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
    { step: 30, sampled: [0.1678, 0.1604, 0.1735, 0.1826, 0.1668], questions: 527 },
  ],
  greedy: [0.2552, 0.2236, 0.2367, 0.2493, 0.2316],
  processorSeconds: [31, 31, 28, 31, 30],
  peakBytes: 556e6,
  recorded: {
    command: 'npm run -s lab:up -- --arms three-tasks --steps 0,30 --seeds 1,2,3,4,5',
    file: 'docs/results/up.jsonl',
  },
} satisfies Recipe
