// SmolLM2 learns to call tools, in the service of an agent that runs beside the node: a calculator, and a shop's tools
// by MCP. The agent asks, calls the tools, rewards, and looks at questions that it never trains on; the node has no
// tasks of its own. A run ends after 48 groups. Groups with equal rewards teach nothing, so the calculator's runs had
// 15, 9, 9, 6 and 7 steps, the shop's 11, 11, 11, 10 and 9. Before calls got 48 tokens, two runs of the calculator and
// one of the shop learnt as well (docs/results/agents.jsonl).

import type { Recipe } from './recipe.ts'
import { sorting } from './sorting.ts'

const withAgent = {
  model: sorting.model,
  parameters: sorting.parameters,
  values: {
    tasks: [],
    'agents.listen': '127.0.0.1:4290',
    'agents.max_tokens': 512,
    'agents.rollout_seconds': 3600,
    'model.max_completion_tokens': 48,
    'rollout.group_size': 4,
    'training.batch_groups': 2,
    'training.learning_rate': 3e-4,
    'training.warm_up_steps': 0,
  },
  greedy: [],
}

export const calculator = {
  ...withAgent,
  summary: 'SmolLM2-135M-Instruct learns to call an agent’s calculator',
  agent: 'node scripts/agents/calculator.mjs 48 4 48',
  looks: [
    { step: 0, sampled: [0.1875, 0.2917, 0.125, 0.2292, 0.2083], questions: 48 },
    { step: 9, sampled: [1, 0.9583, 0.9167, 0.9583, 1], questions: 48 },
  ],
  processorSeconds: [511, 429, 381, 366, 286],
  peakBytes: 3_190_000_000,
  recorded: {
    command: 'npm run -s lab:agent -- --arms calculator --model smollm2.gguf --seeds 3,4,5,6,7',
    file: 'docs/results/agents.jsonl',
  },
} satisfies Recipe

export const shop = {
  ...withAgent,
  summary: 'SmolLM2-135M-Instruct learns to ask a shop’s MCP server for prices',
  agent: 'node scripts/agents/shop.mjs 48 4 16',
  looks: [
    { step: 0, sampled: [0.125, 0.25, 0.0625, 0.0625, 0.0625], questions: 16 },
    { step: 11, sampled: [0.75, 0.75, 0.75, 1, 0.9375], questions: 16 },
  ],
  processorSeconds: [355, 306, 295, 268, 265],
  peakBytes: 3_090_000_000,
  recorded: {
    command: 'npm run -s lab:agent -- --arms shop --model smollm2.gguf --questions 16 --seeds 2,3,4,5,6',
    file: 'docs/results/agents.jsonl',
  },
} satisfies Recipe
