// Held-out accuracy of the policy that an engine holds: prompts that are never trained on, and no plugin in the way but
// those that say they belong there, so no hint or other help in the prompt. Tasks with turns are played to their ends.

import type { EvalPart, EvalResult } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import type { ComposeView } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import type { Engine } from '../engine/engine.ts'
import type { Composed } from '../host/contract.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'
import { kValues, passAt, shareOf } from './estimates.ts'
import { rolloutOf } from './landing.ts'
import { makeOrder } from './orders.ts'
import { beginSequence, type Order } from './sequence.ts'
import type { TaskBook } from './tasks.ts'
import { writeSequences } from './write.ts'

export interface EvaluateOptions {
  /** Names of tasks; all that the node trains on if left out. */
  tasks?: readonly string[]
  /** At most; of a task with fewer held-out questions, all of them. */
  promptsPerTask: number
  maxNewTokens: number
  /** Most tokens of the model: text of plugins that leaves no room for a whole answer is left out. Any if left out. */
  context?: number
  /** Answers per prompt at temperature 1; one if left out. */
  samples?: number
  signal?: AbortSignal
}

export interface EvaluateCollaborators {
  engine: Engine
  tokenizer: Tokenizer
  tasks: TaskBook
  /** Of plugins that may act in an evaluation; a bare question if left out. */
  compose?: ((view: ComposeView) => Promise<Composed | undefined>) | undefined
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
  {
    tasks: wanted,
    promptsPerTask,
    maxNewTokens,
    context = Number.POSITIVE_INFINITY,
    samples = 1,
    signal,
  }: EvaluateOptions,
  { engine, tokenizer, tasks, compose }: EvaluateCollaborators,
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
  const ends = { maxNewTokens, context: Number.POSITIVE_INFINITY }
  const orders: Order[] = []
  for (const [t, { task, difficulty }] of chosen.entries())
    for (let i = 0; i < counts[t]!; i++) {
      const prompt = {
        task: task.name,
        taskVersion: task.version,
        seed: HELD_OUT_SEED + i,
        difficulty,
      }
      const room = { maxNewTokens, context }
      const order = await makeOrder({ prompt, rollouts: 1 }, undefined, room, { tokenizer, tasks, compose })
      orders.push(order!)
    }
  /** By order, the scores of its answers. */
  const ask = async (answers: number, temperature: number): Promise<number[][]> => {
    const sequences = orders.map((order, i) =>
      Array.from({ length: answers }, (_, j) => beginSequence(order, j * orders.length + i)),
    )
    const by = { engine, tokenizer, compose }
    await writeSequences(sequences.flat(), { ...ends, temperature, signal }, by)
    signal?.throwIfAborted()
    return sequences.map((of) => of.map((one) => rolloutOf(one, tokenizer).reward))
  }
  // Both are asked at once, so that no update of the weights comes between them; episodes may see one between two turns.
  const [sampled, greedy] = await Promise.all([ask(samples, 1), ask(1, 0)])
  return chosen.map(({ task, difficulty }, t) => {
    const from = counts.slice(0, t).reduce((sum, count) => sum + count, 0)
    const to = from + counts[t]!
    return {
      task: task.name,
      difficulty,
      sampled: sampled.slice(from, to),
      greedy: greedy.slice(from, to).flat(),
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
