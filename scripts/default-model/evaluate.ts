// Accuracy of a policy in memory: greedy and sampled at temperature 1 on held-out questions, and sampled on training
// questions. The two sampled figures should agree for a model that was supervised on neither.

import type { Engine } from '../../daemon/engine/engine.ts'
import type { Tokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import { scorePrompts } from '../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import { writeGroups } from '../lab/nodes/write-groups.ts'
import { randomFrom } from './initial-weights.ts'
import type { Recipe } from './recipes.ts'

export interface Accuracy {
  task: string
  difficulty: number
  /** Different held-out questions. */
  prompts: number
  greedy: number
  sampled: number
  /** Sampled, on different questions of training. */
  training: number
}

const MAX_TOKENS = 128

export async function accuracyOf(
  { tasks, parts, prompts }: { tasks: readonly Task[]; parts: Recipe['tasks']; prompts: number },
  { engine, tokenizer }: { engine: Engine; tokenizer: Tokenizer },
): Promise<Accuracy[]> {
  const book = createTaskBook(
    tasks,
    tasks.map(({ name }) => ({ name, difficulty: parts[name]!.evaluated })),
  )
  const by = { sampler: engine, tokenizer, tasks: book }
  const scores = await scorePrompts({ promptsPerTask: prompts, maxNewTokens: MAX_TOKENS }, by)
  const random = randomFrom(1)
  const { groups } = await writeGroups(
    {
      asks: book.chosen.flatMap(({ task, difficulty }) => trainingAsks(task, difficulty, prompts)),
      policy: { lineage: '', tokenizer: tokenizer.digest, version: 0 },
      author: '',
      maxNewTokens: MAX_TOKENS,
      sampleSeed: () => Math.floor(random() * 2 ** 32),
    },
    by,
  )
  return scores.map(({ task, difficulty, greedy, sampled }) => ({
    task,
    difficulty,
    prompts: greedy.length,
    greedy: mean(greedy),
    sampled: mean(sampled.map(mean)),
    training: mean(
      groups.filter(({ prompt }) => prompt.task === task).map(({ rollouts }) => rollouts[0]!.reward),
    ),
  }))
}

/** One answer each for as many different questions, if the level has them. */
function trainingAsks(task: Task, difficulty: number, wanted: number) {
  const asked = new Map<string, number>()
  for (let seed = 0; seed < 8 * wanted && asked.size < wanted; seed++) {
    const { question } = task.generate({ seed, difficulty })
    if (!asked.has(question)) asked.set(question, seed)
  }
  return [...asked.values()].map((seed) => ({
    prompt: { task: task.name, taskVersion: task.version, seed, difficulty },
    rollouts: 1,
  }))
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}
