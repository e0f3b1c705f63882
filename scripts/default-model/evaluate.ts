// Held-out accuracy of a policy in memory: greedy, and sampled at temperature 1.

import type { Engine } from '../../daemon/engine/engine.ts'
import type { Tokenizer } from '../../daemon/policy/tokenizer.ts'
import { scorePrompts } from '../../daemon/rollout/evaluate.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import type { Recipe } from './recipes.ts'

export interface Accuracy {
  task: string
  difficulty: number
  greedy: number
  sampled: number
}

const MOST_TOKENS = 128

export async function accuracyOf(
  { tasks, parts, prompts }: { tasks: readonly Task[]; parts: Recipe['tasks']; prompts: number },
  { engine, tokenizer }: { engine: Engine; tokenizer: Tokenizer },
): Promise<Accuracy[]> {
  const book = createTaskBook(
    tasks,
    tasks.map(({ name }) => ({ name, difficulty: parts[name]!.evaluated })),
  )
  const scores = await scorePrompts(
    { promptsPerTask: prompts, maxNewTokens: MOST_TOKENS },
    { engine, tokenizer, tasks: book },
  )
  return scores.map(({ task, difficulty, greedy, sampled }) => ({
    task,
    difficulty,
    greedy: mean(greedy),
    sampled: mean(sampled.map(mean)),
  }))
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}
