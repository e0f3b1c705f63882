// Held-out accuracy of the policy that an engine holds: prompts that are never trained on, no plugin in the way, so no
// hint, skill or other help in the prompt.

import type { EvalPart, EvalResult } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { HELD_OUT_SEED, type Instance } from '../../protocol/train/index.ts'
import type { Engine, Sample } from '../engine/engine.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'
import { kValues, passAt, shareOf } from './estimates.ts'
import type { TaskBook } from './tasks.ts'

export interface EvaluateOptions {
  /** Names of tasks; all that the node trains on if left out. */
  tasks?: readonly string[]
  /** At most; of a task with fewer held-out questions, all of them. */
  promptsPerTask: number
  maxNewTokens: number
  /** Answers per prompt at temperature 1; one if left out. */
  samples?: number
  signal?: AbortSignal
}

/** What each prompt scored: `sampled` has one score per answer. */
export interface PromptScores {
  task: string
  difficulty: number
  sampled: number[][]
  greedy: number[]
}

/**
 * Always the same prompts and sampling seeds for the same counts, so that two evaluations can be compared prompt by
 * prompt. Throws E_TASK for a task that the node does not train on.
 */
export async function scorePrompts(
  { tasks: wanted, promptsPerTask, maxNewTokens, samples = 1, signal }: EvaluateOptions,
  { engine, tokenizer, tasks }: { engine: Engine; tokenizer: Tokenizer; tasks: TaskBook },
): Promise<PromptScores[]> {
  const unknown = wanted?.find((name) => !tasks.chosen.some(({ task }) => task.name === name))
  if (unknown !== undefined) {
    throw new WaggleError('E_TASK', `this node does not train on "${unknown}"`, {
      hint: `It trains on ${tasks.chosen.map(({ task }) => task.name).join(', ')}.`,
    })
  }
  const chosen = tasks.chosen.filter(({ task }) => wanted === undefined || wanted.includes(task.name))
  // A question that is asked twice would count as two, and make the interval look narrower than it is.
  const counts = chosen.map(({ task, difficulty }) =>
    Math.min(promptsPerTask, task.finite?.heldOut(difficulty) ?? promptsPerTask),
  )
  const cases = chosen.flatMap(({ task, difficulty }, t) =>
    Array.from({ length: counts[t]! }, (_, i) => {
      const instance = task.generate({ seed: HELD_OUT_SEED + i, difficulty })
      return { task, instance, prompt: tokenizer.encodePrompt(instance.question) }
    }),
  )
  const ask = (answers: number, temperature: number): Promise<Sample[]> =>
    engine.generate(
      {
        samples: cases.flatMap(({ prompt }, i) =>
          Array.from({ length: answers }, (_, j) => ({ prompt, seed: j * cases.length + i })),
        ),
        maxNewTokens,
        temperature,
        stopTokens: tokenizer.stopTokens,
      },
      signal ? { signal } : {},
    )
  // Both are asked at once, so that no update of the weights comes between them.
  const [sampled, greedy] = await Promise.all([ask(samples, 1), ask(1, 0)])
  signal?.throwIfAborted()
  const scoreOf = ({ task, instance }: (typeof cases)[number], { tokens }: Sample): number =>
    task.verify(instance as Instance, tokenizer.decodeCompletion(tokens)).score
  return chosen.map(({ task, difficulty }, t) => {
    const from = counts.slice(0, t).reduce((sum, count) => sum + count, 0)
    const part = cases.slice(from, from + counts[t]!)
    return {
      task: task.name,
      difficulty,
      sampled: part.map((one, i) =>
        sampled.slice((from + i) * samples, (from + i + 1) * samples).map((answer) => scoreOf(one, answer)),
      ),
      greedy: part.map((one, i) => scoreOf(one, greedy[from + i]!)),
    }
  })
}

export type EvaluationFigures = Required<Pick<EvalResult, 'parts' | 'overall'>>

/** Means, pass@k and their intervals, by task and difficulty and over all of them. */
export function figuresOf(scores: readonly PromptScores[], samples: number): EvaluationFigures {
  const estimate = (chosen: readonly PromptScores[]): Pick<EvalPart, 'sampled' | 'greedy' | 'passAtK'> => ({
    sampled: shareOf(...chosen.map(({ sampled }) => sampled.map(mean))),
    greedy: shareOf(...chosen.map(({ greedy }) => greedy)),
    passAtK: Object.fromEntries(
      kValues(samples).map((k) => [
        k,
        shareOf(
          ...chosen.map(({ sampled }) =>
            sampled.map((answers) => passAt(k, samples, answers.filter((score) => score >= 1).length)),
          ),
        ),
      ]),
    ),
  })
  return {
    parts: scores.map((one) => ({
      task: one.task,
      difficulty: one.difficulty,
      prompts: one.greedy.length,
      samples,
      ...estimate([one]),
    })),
    overall: estimate(scores),
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}
