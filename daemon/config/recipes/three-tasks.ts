// The bundled model on its own three tasks, as `waggle up` does it without any setting.

import type { Recipe } from './recipe.ts'

export const threeTasks: Recipe = {
  summary: 'the bundled model of 1 M parameters learns arithmetic, base conversion and fractions',
  parameters: 1_051_008,
  values: {},
  looks: [],
  greedy: [],
  processorSeconds: [],
  command: 'npm run -s lab:up -- --arms three-tasks --steps 0,10,20,40,60 --seeds 1,2,3,4,5',
  record: 'docs/results/up.jsonl',
}
