// Held-out accuracy of the policy that an engine holds: prompts that are never trained on, no plugin in the way.

import { WaggleError } from '../../protocol/errors.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import type { Engine } from '../engine/engine.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'
import type { TaskBook } from './tasks.ts'

export interface EvaluateOptions {
  /** Names of tasks; all that the node trains on if left out. */
  tasks?: readonly string[]
  promptsPerTask: number
  maxNewTokens: number
  /** 0 for greedy. */
  temperature: number
  signal?: AbortSignal
}

export interface TaskAccuracy {
  task: string
  difficulty: number
  /** Mean score, 0 to 1. */
  accuracy: number
  prompts: number
}

/** Always the same prompts for the same count, so that two evaluations can be compared prompt by prompt. */
export async function evaluate(
  { tasks: wanted, promptsPerTask, maxNewTokens, temperature, signal }: EvaluateOptions,
  { engine, tokenizer, tasks }: { engine: Engine; tokenizer: Tokenizer; tasks: TaskBook },
): Promise<TaskAccuracy[]> {
  const unknown = wanted?.find((name) => !tasks.chosen.some(({ task }) => task.name === name))
  if (unknown !== undefined) {
    throw new WaggleError('E_TASK', `this node does not train on "${unknown}"`, {
      hint: `It trains on ${tasks.chosen.map(({ task }) => task.name).join(', ')}.`,
    })
  }
  const chosen = tasks.chosen.filter(({ task }) => wanted === undefined || wanted.includes(task.name))
  const cases = chosen.flatMap(({ task, difficulty }) =>
    Array.from({ length: promptsPerTask }, (_, i) => ({
      task,
      instance: task.generate({ seed: HELD_OUT_SEED + i, difficulty }),
    })),
  )
  const written = await engine.generate(
    {
      samples: cases.map(({ instance }, seed) => ({
        prompt: tokenizer.encodePrompt(instance.question),
        seed,
      })),
      maxNewTokens,
      temperature,
      stopTokens: tokenizer.stopTokens,
    },
    signal ? { signal } : {},
  )
  signal?.throwIfAborted()
  const scores = written.map(({ tokens }, i) => {
    const { task, instance } = cases[i]!
    return task.verify(instance, tokenizer.decodeCompletion(tokens)).score
  })
  return chosen.map(({ task, difficulty }, i) => {
    const part = scores.slice(i * promptsPerTask, (i + 1) * promptsPerTask)
    return {
      task: task.name,
      difficulty,
      accuracy: part.reduce((a, b) => a + b, 0) / part.length,
      prompts: part.length,
    }
  })
}
